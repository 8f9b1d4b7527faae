import type { SchemaElement } from 'hyparquet'
import type { Column } from '../../sql/selection.js'
import {
  type ArrayTexts,
  formatArray,
  parseArray,
  type ScalarKind,
  type ValueType,
  valueType,
} from '../../sql/value-types.js'
import { decimalOf, floatOf, floatText, integerOf, longOf, signedOf, unscaledOf } from './numbers.js'
import { dateOf, daysOf, microsOfTime, microsOfTimestamp, timeOf, timestampOf } from './times.js'
import { S3ValueError } from './value-error.js'

/** What the Parquet writer accepts and the reader returns after `restore`: never a Date, never a rounded number. */
export type Scalar = boolean | number | bigint | Uint8Array
export type ParquetValue = Scalar | null | readonly (Scalar | null)[]

type Leaf = Omit<SchemaElement, 'name' | 'repetition_type'>

/** How values of one type are stored. */
interface ScalarStorage {
  /** The readable name: `decimal(10,2)`. */
  readonly label: string
  readonly leaf: Leaf
  /** Annotations for the footer only: with them, the writer would quote JSON a second time. */
  readonly footer?: Leaf
  /** The writer's dictionaries treat 0 and -0 as one value, so floats use none. */
  readonly encoding?: 'PLAIN'
  read(text: string): Scalar
  restore(raw: Scalar): Scalar
  text(value: Scalar): string
  compare(left: Scalar, right: Scalar): number
}

/** One column of the mart, from PostgreSQL's text to the file and back. */
export interface Storage {
  readonly name: string
  readonly label: string
  /** Elements of the schema, the column itself first. */
  readonly elements: readonly SchemaElement[]
  /** The same for the footer. */
  readonly footer: readonly SchemaElement[]
  readonly encoding: 'PLAIN' | undefined
  /** Null for lists and documents, which have no useful order. */
  readonly compare: ((left: Scalar, right: Scalar) => number) | null
  /** Throws S3ValueError. */
  read(text: string | null): ParquetValue
  restore(raw: unknown): ParquetValue
  text(value: ParquetValue): string | null
}

const OPTIONAL = { repetition_type: 'OPTIONAL' } as const
const UTF8 = { converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const
const same = (raw: Scalar) => raw
const order = <T>(left: T, right: T) => (left < right ? -1 : left > right ? 1 : 0)

/** A storage whose values are of one JavaScript type; confines the casts. */
function storage<T extends Scalar>(parts: {
  readonly label: string
  readonly leaf: Leaf
  readonly footer?: Leaf
  readonly encoding?: 'PLAIN'
  readonly read: (text: string) => T
  readonly text: (value: T) => string
  readonly restore?: (raw: Scalar) => T
  readonly compare?: (left: T, right: T) => number
}): ScalarStorage {
  return { restore: same, compare: order, ...parts } as unknown as ScalarStorage
}

const textStorage = (label: string, leaf: Leaf, footer?: Leaf) =>
  storage<Uint8Array>({
    label,
    leaf,
    ...(footer === undefined ? {} : { footer }),
    // Bytes, not strings: the writer orders strings by UTF-16, and readers would skip files with matching rows.
    read: (text) => Buffer.from(text, 'utf8'),
    text: (value) => utf8(value),
    compare: (left, right) => Buffer.compare(left, right),
  })

const utf8 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

const TEXT = textStorage('string', { type: 'BYTE_ARRAY', ...UTF8 })
const DOCUMENT = textStorage(
  'json',
  { type: 'BYTE_ARRAY' },
  {
    type: 'BYTE_ARRAY',
    converted_type: 'JSON',
    logical_type: { type: 'JSON' },
  },
)

const timestamp = (isAdjustedToUTC: boolean, zone: '' | '+00') =>
  storage<bigint>({
    label: isAdjustedToUTC ? 'timestamp(micros, UTC)' : 'timestamp(micros)',
    leaf: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MICROS' } },
    read: microsOfTimestamp,
    text: (value) => timestampOf(value, zone),
  })

const float = (label: string, type: 'FLOAT' | 'DOUBLE', digits: 6 | 15) =>
  storage<number>({
    label,
    leaf: { type },
    encoding: 'PLAIN',
    read: (text) => (type === 'FLOAT' ? Math.fround(floatOf(text)) : floatOf(text)),
    text: (value) => floatText(value, digits),
    // PostgreSQL's order: NaN is greater than every number.
    compare: (left, right) => Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || order(left, right),
  })

const integer = (label: string, leaf: Leaf, bits: 16 | 32) =>
  storage<number>({
    label,
    leaf,
    read: (text) => integerOf(text, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
    text: String,
  })

const SCALARS: Readonly<Record<ScalarKind, ScalarStorage>> = {
  boolean: storage<boolean>({
    label: 'boolean',
    leaf: { type: 'BOOLEAN' },
    read: truth,
    text: (value) => (value ? 't' : 'f'),
  }),
  // Not the logical type INTEGER: the writer encodes its width in four bytes instead of one, and DuckDB rejects the file.
  int2: integer('int16', { type: 'INT32', converted_type: 'INT_16' }, 16),
  int4: integer('int32', { type: 'INT32' }, 32),
  int8: storage<bigint>({ label: 'int64', leaf: { type: 'INT64' }, read: longOf, text: String }),
  float4: float('float', 'FLOAT', 6),
  float8: float('double', 'DOUBLE', 15),
  text: TEXT,
  uuid: storage<Uint8Array>({
    label: 'uuid',
    leaf: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
    read: uuidBytes,
    text: uuidText,
    compare: (left, right) => Buffer.compare(left, right),
  }),
  date: storage<number>({
    label: 'date',
    leaf: { type: 'INT32', converted_type: 'DATE' },
    read: daysOf,
    text: dateOf,
  }),
  time: storage<bigint>({
    label: 'time(micros)',
    leaf: { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' } },
    read: microsOfTime,
    text: timeOf,
  }),
  timetz: TEXT,
  timestamp: timestamp(false, ''),
  timestamptz: timestamp(true, '+00'),
  interval: TEXT,
  bytea: storage<Uint8Array>({
    label: 'bytes',
    leaf: { type: 'BYTE_ARRAY' },
    read: byteaBytes,
    text: (value) => `\\x${Buffer.from(value).toString('hex')}`,
    compare: (left, right) => Buffer.compare(left, right),
  }),
  json: DOCUMENT,
  jsonb: DOCUMENT,
  other: TEXT,
}

/** The widest decimal that Parquet readers support. */
export const WIDEST_DECIMAL = 38

/** Precision and scale in Parquet's terms (0 ≤ scale ≤ precision); null: a numeric that may not fit into any decimal. */
export function decimalShape(type: ValueType): { readonly precision: number; readonly scale: number } | null {
  if (type.kind !== 'numeric' || type.precision === null) return null
  const scale = Math.max(type.scale ?? 0, 0)
  const precision = Math.max(type.precision - Math.min(type.scale ?? 0, 0), scale)
  return precision > WIDEST_DECIMAL ? null : { precision, scale }
}

function decimal(precision: number, scale: number): ScalarStorage {
  const annotation = {
    converted_type: 'DECIMAL',
    precision,
    scale,
    logical_type: { type: 'DECIMAL', precision, scale },
  } as const
  const physical: Leaf =
    precision <= 9
      ? { type: 'INT32' }
      : precision <= 18
        ? { type: 'INT64' }
        : { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 }
  return storage<bigint>({
    label: `decimal(${precision},${scale})`,
    leaf: { ...physical, ...annotation },
    // A bigint is written exactly; a number would pass through a double.
    read: (text) => unscaledOf(text, precision, scale),
    restore: (raw) => (raw instanceof Uint8Array ? signedOf(raw) : BigInt(raw)),
    text: (value) => decimalOf(value, scale),
  })
}

function scalarStorage(type: ValueType): ScalarStorage {
  if (type.kind === 'array') return TEXT
  if (type.kind !== 'numeric') return SCALARS[type.kind]
  const shape = decimalShape(type)
  return shape === null ? TEXT : decimal(shape.precision, shape.scale)
}

/** How a column is stored. */
export function storageOf(column: Pick<Column, 'name' | 'type'>): Storage {
  const type = valueType(column.type)
  return type.kind === 'array'
    ? listColumn(column.name, scalarStorage(type.of))
    : plainColumn(column.name, scalarStorage(type))
}

function plainColumn(name: string, scalar: ScalarStorage): Storage {
  return {
    name,
    label: scalar.label,
    elements: [{ name, ...OPTIONAL, ...scalar.leaf }],
    footer: [{ name, ...OPTIONAL, ...(scalar.footer ?? scalar.leaf) }],
    encoding: scalar.encoding,
    compare: scalar === DOCUMENT ? null : scalar.compare,
    read: (text) => (text === null ? null : scalar.read(text)),
    restore: (raw) => (isNone(raw) ? null : scalar.restore(raw as Scalar)),
    text: (value) => (value === null ? null : scalar.text(value as Scalar)),
  }
}

function listColumn(name: string, scalar: ScalarStorage): Storage {
  const group: SchemaElement[] = [
    { name, ...OPTIONAL, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  ]
  return {
    name,
    label: `list<${scalar.label}>`,
    elements: [...group, { name: 'element', ...OPTIONAL, ...scalar.leaf }],
    footer: [...group, { name: 'element', ...OPTIONAL, ...(scalar.footer ?? scalar.leaf) }],
    encoding: scalar.encoding,
    compare: null,
    read: (text) => (text === null ? null : readList(text, scalar)),
    restore: (raw) =>
      isNone(raw)
        ? null
        : (raw as unknown[]).map((one) => (isNone(one) ? null : scalar.restore(one as Scalar))),
    text: (value) =>
      value === null ? null : formatArray(listTexts(value as readonly (Scalar | null)[], scalar)),
  }
}

function readList(text: string, scalar: ScalarStorage): (Scalar | null)[] {
  return parseArray(text).map((one) => {
    if (one === null) return null
    if (typeof one === 'string') return scalar.read(one)
    throw new S3ValueError('the array has more than one dimension, but the column is a list')
  })
}

function listTexts(values: readonly (Scalar | null)[], scalar: ScalarStorage): ArrayTexts {
  return values.map((value) => (value === null ? null : scalar.text(value)))
}

const isNone = (raw: unknown) => raw === null || raw === undefined

function truth(text: string): boolean {
  if (text === 't' || text === 'true') return true
  if (text === 'f' || text === 'false') return false
  throw new S3ValueError(`${text} is neither true nor false`)
}

function uuidBytes(text: string): Uint8Array {
  const hex = text.replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/i.test(hex)) throw new S3ValueError(`${text} is not a uuid`)
  return Buffer.from(hex, 'hex')
}

function uuidText(value: Uint8Array): string {
  return Buffer.from(value)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function byteaBytes(text: string): Uint8Array {
  if (!/^\\x(?:[0-9a-f]{2})*$/i.test(text)) throw new S3ValueError('the bytes are not in hex format')
  return Buffer.from(text.slice(2), 'hex')
}
