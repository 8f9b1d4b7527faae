import { type ArrayTexts, parseArray, type ValueType, valueType } from '../../sql/value-types.js'
import { numberOf } from './exact-json.js'
import { ElasticsearchValueError } from './value-error.js'

/*
 * Maps PostgreSQL's types to Elasticsearch's; docs/guides/elasticsearch.md shows the mapping as a table.
 * A document is exact, or the row is rejected, or examine() has reported what is rounded.
 */

export type BulkMode = 'update' | 'index'
export type Mapping = Readonly<Record<string, unknown>> & { readonly type: string }

export interface FieldType {
  readonly mapping: Mapping
  /** How COPY's bytes become JSON: unchanged, quoted, or only by `literal`. */
  readonly copy: 'bare' | 'quoted' | null
  /** PostgreSQL's text as JSON. Throws ElasticsearchValueError. */
  literal(text: string): string
  /** Back to PostgreSQL's text, from a value of parseExact; null when that is not possible. */
  text(value: unknown): string | null
  /** What is rounded, and how to keep it. */
  readonly loss: { readonly what: string; readonly remedy: string } | null
}

/** Digits that every long, and every double without rounding, can hold. */
const LONG_DIGITS = 18
const DOUBLE_DIGITS = 15

/** Longer texts are stored but not searchable as a whole: a term is limited to 32,766 bytes, a character takes up to four. */
const KEYWORD = { type: 'keyword', ignore_above: 8191 }
const TEXT = { type: 'text', fields: { keyword: { type: 'keyword', ignore_above: 256 } } }

export function fieldType(type: string, mode: BulkMode): FieldType {
  return fieldOf(valueType(type), mode)
}

function fieldOf(type: ValueType, mode: BulkMode): FieldType {
  switch (type.kind) {
    case 'array':
      return arrayOf(fieldOf(type.of, mode))
    case 'numeric':
      return numericField(type, mode)
    case 'boolean':
      return field(
        { type: 'boolean' },
        (text) => (text === 't' ? 'true' : 'false'),
        (value) => (value === true ? 't' : 'f'),
      )
    case 'int2':
      return integerField('short')
    case 'int4':
      return integerField('integer')
    case 'int8':
      return integerField('long')
    case 'float4':
      return field({ type: 'float' }, finite, shortest)
    case 'float8':
      return field({ type: 'double' }, finite, shortest)
    case 'text':
      return textField(TEXT)
    case 'date':
      return field({ type: 'date', format: 'strict_date' }, dateLiteral, asString)
    case 'timestamp':
      return field(TIMESTAMP, timestampLiteral, (value) => withoutT(value))
    case 'timestamptz':
      return field(TIMESTAMP, instantLiteral, (value) => withoutT(value)?.replace('Z', '+00') ?? null)
    case 'bytea':
      return field({ type: 'binary' }, base64, (value) =>
        typeof value === 'string' ? `\\x${Buffer.from(value, 'base64').toString('hex')}` : null,
      )
    case 'json':
    case 'jsonb':
      return jsonField(mode)
    default:
      return textField(KEYWORD)
  }
}

function field(mapping: Mapping, literal: FieldType['literal'], text: FieldType['text']): FieldType {
  return { mapping, copy: null, literal, text, loss: null }
}

function textField(mapping: Mapping): FieldType {
  return { mapping, copy: 'quoted', literal: JSON.stringify, text: asString, loss: null }
}

/** The digits unchanged: JSON has no width limit, and no JavaScript number is involved. */
function integerField(type: string): FieldType {
  return { mapping: { type }, copy: 'bare', literal: (text) => text, text: digits, loss: null }
}

function arrayOf(element: FieldType): FieldType {
  const literal = (elements: ArrayTexts): string =>
    `[${elements.map((one) => (one === null ? 'null' : typeof one === 'string' ? element.literal(one) : literal(one))).join(',')}]`
  return { ...element, copy: null, literal: (text) => literal(parseArray(text)), text: () => null }
}

/**
 * An integer of any length is kept exactly. A fraction is kept as a number up to 15 digits; where more are declared it
 * is a string. Where nothing is declared (avg() returns 16 and more), users expect a number: see `loss`.
 */
function numericField(type: ValueType & { kind: 'numeric' }, mode: BulkMode): FieldType {
  const { precision, scale } = type
  const back = (value: unknown) => withScale(digits(value), scale)
  if (precision === null)
    return { ...field({ type: 'double' }, finite, back), loss: mode === 'update' ? UNDECLARED : null }
  if (scale! <= 0) {
    const whole = precision - scale!
    return field({ type: whole <= LONG_DIGITS ? 'long' : 'double' }, finite, back)
  }
  if (precision <= DOUBLE_DIGITS) return field({ type: 'double' }, finite, back)
  return field({ type: 'double' }, (text) => `"${finite(text)}"`, asString)
}

const UNDECLARED = {
  what: 'fractions with more than 15 digits are rounded to a double when Elasticsearch merges a document',
  remedy:
    'Declare the digits, as in ::numeric(38,10), to keep all of them as a string; choose write_mode "index"; or round() the value.',
}

function jsonField(mode: BulkMode): FieldType {
  const loss = {
    what: 'fractions inside it with more than 15 digits are rounded to a double when Elasticsearch merges a document',
    remedy: 'Choose write_mode "index" if they matter.',
  }
  // Not enabled: any JSON is stored unchanged and nothing in it becomes a field. Otherwise a field that is an object in
  // one row and a number in the next would be rejected.
  const mapping = { type: 'object', enabled: false }
  return {
    ...field(mapping, mode === 'update' ? mergeableJson : oneLine, () => null),
    loss: mode === 'update' ? loss : null,
  }
}

/** A line feed would end the bulk line; in JSON it occurs only between tokens, never in a string. */
function oneLine(text: string): string {
  return /[\n\r]/.test(text) ? text.replace(/[\n\r]/g, ' ') : text
}

const LARGE_EXPONENT = /\d[eE]\+?\d{3}/

/** The server reads the number 1e400 as a double and would store the string "Infinity" instead. */
function mergeableJson(text: string): string {
  if (LARGE_EXPONENT.test(text) && hasInfinity(JSON.parse(text)))
    throw new ElasticsearchValueError(
      'contains a number larger than a double; write_mode "index" can store it',
    )
  return oneLine(text)
}

function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity)
}

/** JSON has no NaN, Infinity or -Infinity, and no field accepts them. */
function finite(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  if (last < 0x30 || last > 0x39)
    throw new ElasticsearchValueError(
      `is ${text}, which JSON cannot represent; use NULLIF(…, '${text}') in the query to make it NULL`,
    )
  // As an integer it would lose its sign.
  return text === '-0' ? '-0.0' : text
}

const TIMESTAMP = { type: 'date', format: 'strict_date_optional_time_nanos' }
const DATE_LENGTH = 10
const HYPHEN = '-'

/** A four-digit year AD: strict formats reject PostgreSQL's other dates. */
function requireDate(text: string): void {
  if (text[4] !== HYPHEN || text.endsWith('C'))
    throw new ElasticsearchValueError(
      `is ${text}, but Elasticsearch accepts only dates from 0001 to 9999; use NULLIF(…, '${text}') in the query to make it NULL`,
    )
}

function dateLiteral(text: string): string {
  requireDate(text)
  return `"${text}"`
}

function timestampLiteral(text: string): string {
  requireDate(text)
  return `"${text.slice(0, DATE_LENGTH)}T${text.slice(DATE_LENGTH + 1)}"`
}

/** Sessions write in UTC: `2024-05-01 10:00:00.123456+00`. */
function instantLiteral(text: string): string {
  requireDate(text)
  return `"${text.slice(0, DATE_LENGTH)}T${text.slice(DATE_LENGTH + 1, -3)}Z"`
}

function base64(text: string): string {
  return `"${Buffer.from(text.slice(2), 'hex').toString('base64')}"`
}

function asString(value: unknown): string | null {
  return typeof value === 'string' ? (numberOf(value) ?? value) : null
}

function digits(value: unknown): string | null {
  return numberOf(value) ?? (typeof value === 'string' ? value : null)
}

function shortest(value: unknown): string | null {
  const literal = digits(value)
  return literal === null ? null : String(Number(literal))
}

function withoutT(value: unknown): string | null {
  return typeof value === 'string' ? value.replace('T', ' ') : null
}

function withScale(literal: string | null, scale: number | null): string | null {
  if (literal === null || scale === null || scale <= 0) return literal
  const [whole, fraction = ''] = (/e/i.test(literal) ? Number(literal).toFixed(scale) : literal).split('.')
  return `${whole}.${fraction.padEnd(scale, '0').slice(0, scale)}`
}
