import { withoutTrailingZeros } from '../../model/trim-end.js'
import { formatArray, parseArray, type ValueType, valueType } from '../../sql/value-types.js'
import type { ColumnCodec } from './column-codec.js'
import type { ClickHouseOptions } from './config.js'
import { floatCodec } from './floats.js'
import { literal } from './quoting.js'
import { ClickHouseValueError } from './value-error.js'

const same = (text: string) => text
const asText = (expression: string) => `toString(${expression})`

/** The default: the same text on both sides. */
function plainCodec(type: string, changes: Partial<ColumnCodec> = {}): ColumnCodec {
  return {
    type,
    isNullable: true,
    isQuoted: true,
    encode: same,
    canonical: same,
    canonicalSql: asText,
    decode: same,
    ...changes,
  }
}

const STRING = plainCodec('String', { encode: escapeText, canonicalSql: same })
const integer = (type: string) => plainCodec(type, { isQuoted: false })

const SCALARS: Readonly<Record<Exclude<ValueType['kind'], 'numeric' | 'array'>, ColumnCodec>> = {
  boolean: plainCodec('Bool', {
    isQuoted: false,
    encode: (text) => (text === 't' ? 'true' : 'false'),
    canonicalSql: (expression) => `if(${expression}, 't', 'f')`,
  }),
  int2: integer('Int16'),
  int4: integer('Int32'),
  int8: integer('Int64'),
  float4: floatCodec(plainCodec('Float32'), 32),
  float8: floatCodec(plainCodec('Float64'), 64),
  text: STRING,
  uuid: plainCodec('UUID'),
  date: plainCodec('Date32', { encode: requireDate }),
  time: STRING,
  timetz: STRING,
  timestamp: timestampCodec(''),
  timestamptz: timestampCodec('+00'),
  interval: STRING,
  bytea: plainCodec('String', {
    encode: (text) => text.slice(2).replace(/../g, '\\x$&'),
    canonicalSql: (expression) => `concat('\\\\x', lower(hex(${expression})))`,
  }),
  json: STRING,
  jsonb: STRING,
  other: STRING,
}

export function codecOf(type: string, options: Pick<ClickHouseOptions, 'numeric'>): ColumnCodec {
  return codecFor(valueType(type), options)
}

function codecFor(type: ValueType, options: Pick<ClickHouseOptions, 'numeric'>): ColumnCodec {
  if (type.kind === 'array') return arrayCodec(codecFor(type.of, options))
  if (type.kind !== 'numeric') return SCALARS[type.kind]
  const { precision, scale } = type
  if (precision === null || scale === null) return options.numeric === 'string' ? STRING : ANY_DECIMAL
  // PostgreSQL also allows numeric(2,-3) and numeric(2,5).
  const digits = Math.max(precision - Math.min(scale, 0), scale)
  return digits > MOST_DIGITS ? STRING : decimalCodec(digits, Math.max(scale, 0), Math.max(scale, 0))
}

const MOST_DIGITS = 76
/** 38 digits before and after the point: results of avg() and sum() fit, and nothing is rounded. */
const ANY_DECIMAL = decimalCodec(MOST_DIGITS, 38, 0)

/** `shown`: the number of fraction digits that PostgreSQL always writes. */
function decimalCodec(precision: number, scale: number, shown: number): ColumnCodec {
  return plainCodec(`Decimal(${precision}, ${scale})`, {
    isQuoted: false,
    encode: (text) => {
      const plain = shortDecimal(text)
      const found = /^-?(\d+)(?:\.(\d+))?$/.exec(plain)
      if (found === null) throw new ClickHouseValueError(`${shorten(text)} is not a valid Decimal`)
      // The server would silently truncate excess fraction digits.
      if (found[1]!.replace(/^0+/, '').length > precision - scale || (found[2] ?? '').length > scale)
        throw new ClickHouseValueError(`${shorten(text)} does not fit into Decimal(${precision}, ${scale})`)
      return plain
    },
    canonical: shortDecimal,
    decode: (text) => (shown === 0 ? text : withScale(text, shown)),
  })
}

function shortDecimal(text: string): string {
  return text.includes('.') ? withoutTrailingZeros(text) : text
}

function withScale(text: string, scale: number): string {
  const [whole, fraction = ''] = text.split('.')
  return `${whole}.${fraction.padEnd(scale, '0')}`
}

/** Outside this range the server would silently store the nearest bound. */
const FIRST_DAY = '1900-01-01'
const LAST_DAY = '2299-12-31'

function requireDate(text: string): string {
  const day = text.slice(0, 10)
  if (!/^\d{4}-\d\d-\d\d(?!.*BC)/.test(text) || day < FIRST_DAY || day > LAST_DAY)
    throw new ClickHouseValueError(`${shorten(text)} is not between ${FIRST_DAY} and ${LAST_DAY}`)
  return text
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(\+00)?$/

function timestampCodec(zone: '' | '+00'): ColumnCodec {
  const withMicroseconds = (text: string) => {
    const found = TIMESTAMP.exec(text)
    return found === null ? null : `${found[1]}.${(found[2] ?? '').padEnd(6, '0')}`
  }
  return plainCodec("DateTime64(6, 'UTC')", {
    encode: (text) => {
      requireDate(text)
      const plain = withMicroseconds(text)
      if (plain === null) throw new ClickHouseValueError(`${shorten(text)} is not a valid time in UTC`)
      return plain
    },
    canonical: (text) => withMicroseconds(text) ?? text,
    decode: (text) => withoutTrailingZeros(text) + zone,
  })
}

function arrayCodec(of: ColumnCodec): ColumnCodec {
  const inner = (text: string) => parseArray(text).map((one) => textOf(one, of))
  const element = 'element'
  return plainCodec(`Array(${of.isNullable ? `Nullable(${of.type})` : of.type})`, {
    isNullable: false,
    isQuoted: false,
    encode: (text) =>
      `[${inner(text)
        .map((one) => encodeElement(one, of))
        .join(',')}]`,
    canonical: (text) => {
      const elements = parseArray(text)
      return `${elements.length}[${elements.map((one) => canonicalOf(one === null ? null : anyText(one), of)).join('')}`
    },
    canonicalSql: (expression) =>
      `concat(toString(length(${expression})), '[', arrayStringConcat(arrayMap(${element} -> ${canonicalSqlOf(element, of)}, ${expression})))`,
    decode: same,
  })
}

const anyText = (one: string | Parameters<typeof formatArray>[0]) =>
  typeof one === 'string' ? one : formatArray(one)

function textOf(one: ReturnType<typeof parseArray>[number], of: ColumnCodec): string | null {
  if (one === null) return null
  const isArray = typeof one !== 'string'
  if (isArray === of.isNullable)
    throw new ClickHouseValueError(
      `the array has ${isArray ? 'more' : 'fewer'} dimensions than its type, which ClickHouse cannot store`,
    )
  return anyText(one)
}

function encodeElement(text: string | null, of: ColumnCodec): string {
  if (text === null) {
    if (of.isNullable) return 'NULL'
    throw new ClickHouseValueError('NULL where ClickHouse requires an array')
  }
  return of.isQuoted ? `'${of.encode(text)}'` : of.encode(text)
}

/** Prefixed with its length, so that ("a", "bc") and ("ab", "c") differ. */
export function canonicalOf(text: string | null, codec: ColumnCodec): string {
  // ClickHouse stores an empty array, see `isNullable`.
  if (text === null && !codec.isNullable) return canonicalOf('{}', codec)
  if (text === null) return 'N'
  const canonical = codec.canonical(text)
  return `${Buffer.byteLength(canonical)}:${canonical}`
}

export function canonicalSqlOf(expression: string, codec: ColumnCodec): string {
  const value = codec.canonicalSql(`assumeNotNull(${expression})`)
  return `if(isNull(${expression}), 'N', concat(toString(length(${value})), ':', ${value}))`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
  "'": "\\'",
  '\\': '\\\\',
}
const SPECIAL = /[\b\f\n\r\t\0'\\]/g

function escapeText(text: string): string {
  return text.replace(SPECIAL, (char) => ESCAPES[char]!)
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** `id Int64, at DateTime64(6, 'UTC')`, as a literal for table functions. */
export function structure(codecs: readonly ColumnCodec[]): string {
  return literal(codecs.map((codec, index) => `k${index} ${codec.type}`).join(', '))
}
