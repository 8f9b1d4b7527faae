import { withoutTrailingZeros } from '../../model/trim-end.js'
import { type ArrayTexts, formatArray, parseArray, type ValueType } from '../../sql/value-types.js'
import { got, InvalidResult } from './invalid-result.js'
import { JsonNull } from './task.js'

type Kind = ValueType['kind']
export type ValueReader = (text: string) => unknown
export type ValueWriter = (value: unknown) => string

// Kept here: user code may replace the globals.
const { parse, stringify } = JSON

/** Null: the text itself is the value. */
export function readerOf(type: ValueType): ValueReader | null {
  if (type.kind === 'array') return arrayReader(readerOf(type.of))
  return READERS[type.kind] ?? null
}

const READERS: Partial<Record<Kind, ValueReader>> = {
  boolean: (text) => text === 't',
  int2: Number,
  int4: Number,
  int8: BigInt,
  float4: Number,
  float8: Number,
  bytea: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
  json: readJson,
  jsonb: readJson,
}

function readJson(text: string): unknown {
  const value: unknown = parse(text)
  return value === null ? JsonNull : value
}

function arrayReader(element: ValueReader | null): ValueReader {
  const read = (texts: ArrayTexts): unknown[] =>
    texts.map((one) => {
      if (one === null) return null
      return typeof one === 'string' ? (element?.(one) ?? one) : read(one)
    })
  return (text) => read(parseArray(text))
}

export function writerOf(type: ValueType): ValueWriter {
  if (type.kind === 'array') return arrayWriter(type.of)
  return WRITERS[type.kind]
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$|^NaN$|^[+-]?Infinity$/
const MOMENT = /^-?infinity$|^\d[\d:.T+ -]*(?:Z| ?BC)?$/
/** The database rejects larger values; there is no need to write out their zeros. */
const LONGEST_EXPONENT = 20_000
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const WRITERS: Record<Exclude<Kind, 'array'>, ValueWriter> = {
  boolean: (value) => (typeof value === 'boolean' ? (value ? 't' : 'f') : refuse('true or false', value)),
  int2: writeInteger,
  int4: writeInteger,
  int8: writeInteger,
  numeric: (value) => withoutExponent(writeNumber(value)),
  float4: writeNumber,
  float8: writeNumber,
  text: (value) =>
    typeof value === 'string' ? value : refuse('a string', value, 'Write String(value) in the function.'),
  other: (value) => (typeof value === 'string' ? value : refuse('a string', value)),
  interval: (value) => (typeof value === 'string' ? value : refuse("a string such as '1 day'", value)),
  uuid: (value) =>
    typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : refuse('a uuid', value),
  date: (value) => moment(value, 'a date', (date) => iso(date).slice(0, 10)),
  time: (value) => moment(value, 'a time', null),
  timetz: (value) => moment(value, 'a time with time zone', null),
  timestamp: (value) => moment(value, 'a timestamp', stamp),
  timestamptz: (value) => moment(value, 'a timestamp', (date) => `${stamp(date)}+00`),
  bytea: (value) =>
    value instanceof Uint8Array
      ? `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
      : refuse('a Uint8Array', value),
  json: writeJson,
  jsonb: writeJson,
}

function writeInteger(value: unknown): string {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return String(value)
  return typeof value === 'string' && /^-?\d+$/.test(value) ? value : refuse('a whole number', value)
}

function writeNumber(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return typeof value === 'string' && NUMBER.test(value) ? value : refuse('a number', value)
}

/** In PostgreSQL's format: not every target accepts an exponent. */
function withoutExponent(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent] =
    /^([-+]?)(\d*)(?:\.(\d*))?e([-+]?\d+)$/i.exec(text) ?? []
  if (exponent === undefined || Math.abs(Number(exponent)) > LONGEST_EXPONENT) return text
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const at = Math.max(point, 1)
  const [before, behind] = [padded.slice(0, at), padded.slice(at)]
  return `${sign}${before.replace(/^0+(?=\d)/, '')}${behind === '' ? '' : `.${behind}`}`
}

function moment(value: unknown, wanted: string, write: ((date: Date) => string) | null): string {
  if (write !== null && value instanceof Date && !Number.isNaN(value.getTime())) return write(value)
  return typeof value === 'string' && MOMENT.test(value) ? value : refuse(wanted, value)
}

/** In PostgreSQL's format: `2024-01-01 12:00:00.12`. */
function stamp(date: Date): string {
  const [day, clock = ''] = iso(date).slice(0, -1).split('T')
  return `${day} ${withoutTrailingZeros(clock)}`
}

function iso(date: Date): string {
  const text = date.toISOString()
  return /^\d{4}-/.test(text) ? text : refuse('a year between 0 and 9999', date)
}

function writeJson(value: unknown): string {
  if (value === JsonNull) return 'null'
  try {
    const text = stringify(value, refuseLosses)
    if (typeof text === 'string') return text
  } catch (error) {
    if (error instanceof InvalidResult) throw error
    throw new InvalidResult(`cannot be converted to JSON: ${(error as Error).message.split('\n')[0]}`)
  }
  return refuse('a JSON value', value)
}

/** JSON.stringify would drop a function and write NaN as null. */
function refuseLosses(_key: string, value: unknown): unknown {
  if (value === JsonNull) return null
  const isLost = typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
  if (isLost || (typeof value === 'number' && !Number.isFinite(value)))
    throw new InvalidResult(`cannot contain ${got(value)}: JSON has no such value`)
  return value
}

function arrayWriter(type: ValueType): ValueWriter {
  const element = writerOf(type)
  // In an array of JSON a list is a value, not another dimension.
  const nests = type.kind !== 'json' && type.kind !== 'jsonb'
  const texts = (values: readonly unknown[]): ArrayTexts =>
    values.map((one) => {
      if (one === null) return null
      return nests && Array.isArray(one) ? texts(one) : element(one)
    })
  return (value) => (Array.isArray(value) ? formatArray(texts(value)) : refuse('an array', value))
}

function refuse(wanted: string, value: unknown, hint?: string): never {
  throw new InvalidResult(`requires ${wanted}, got ${got(value)}`, hint === undefined ? {} : { hint })
}
