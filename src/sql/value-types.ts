/** The kind of a value regardless of its type's spelling: enough to write it to other systems. */
export type ValueType =
  | { readonly kind: ScalarKind }
  /** Null: any number of digits. */
  | { readonly kind: 'numeric'; readonly precision: number | null; readonly scale: number | null }
  | { readonly kind: 'array'; readonly of: ValueType }

export type ScalarKind =
  | 'boolean'
  | 'int2'
  | 'int4'
  | 'int8'
  | 'float4'
  | 'float8'
  | 'text'
  | 'uuid'
  | 'date'
  | 'time'
  | 'timetz'
  | 'timestamp'
  | 'timestamptz'
  | 'interval'
  | 'bytea'
  | 'json'
  | 'jsonb'
  /** An enum, a range, a composite, an extension's type: only its text is known. */
  | 'other'

const NAMES: Readonly<Record<string, ScalarKind>> = {
  boolean: 'boolean',
  smallint: 'int2',
  integer: 'int4',
  bigint: 'int8',
  oid: 'int8',
  real: 'float4',
  'double precision': 'float8',
  text: 'text',
  name: 'text',
  '"char"': 'text',
  'character varying': 'text',
  character: 'text',
  uuid: 'uuid',
  date: 'date',
  'time without time zone': 'time',
  'time with time zone': 'timetz',
  'timestamp without time zone': 'timestamp',
  'timestamp with time zone': 'timestamptz',
  interval: 'interval',
  bytea: 'bytea',
  json: 'json',
  jsonb: 'jsonb',
}

/** From the type as format_type writes it: `numeric(10,2)`, `timestamp(3) with time zone`, `text[]`. */
export function valueType(type: string): ValueType {
  if (type.endsWith('[]')) return { kind: 'array', of: valueType(type.slice(0, -2)) }
  const modifier = /\((-?\d+)(?:,(-?\d+))?\)/.exec(type)
  const plain = type.replace(/ ?\([^()]*\)/, '').trim()
  if (plain !== 'numeric') return { kind: NAMES[plain] ?? 'other' }
  return {
    kind: 'numeric',
    precision: modifier === null ? null : Number(modifier[1]),
    scale: modifier === null ? null : Number(modifier[2] ?? 0),
  }
}

/** The elements of an array, nested to any depth; each a text, null is NULL. */
export type ArrayTexts = readonly (string | null | ArrayTexts)[]

/** The output of array_out: `{a,"b,c",NULL,{…}}`, with bounds in front if they do not begin at 1. */
export function parseArray(text: string): ArrayTexts {
  return new ArrayReader(text).read()
}

class ArrayReader {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith('[') ? text.indexOf('=') + 1 : 0
  }

  read(): ArrayTexts {
    const elements: (string | null | ArrayTexts)[] = []
    this.#at += 1
    while (this.#text[this.#at] !== '}') {
      if (this.#text[this.#at] === ',') this.#at += 1
      elements.push(this.#element())
    }
    this.#at += 1
    return elements
  }

  #element(): string | null | ArrayTexts {
    const first = this.#text[this.#at]
    if (first === '{') return this.read()
    return first === '"' ? this.#quoted() : this.#plain()
  }

  #quoted(): string {
    let value = ''
    for (this.#at += 1; this.#text[this.#at] !== '"'; this.#at += 1) {
      if (this.#text[this.#at] === '\\') this.#at += 1
      value += this.#text[this.#at]
    }
    this.#at += 1
    return value
  }

  #plain(): string | null {
    const start = this.#at
    while (this.#text[this.#at] !== ',' && this.#text[this.#at] !== '}') {
      if (this.#text[this.#at] === '\\') this.#at += 1
      this.#at += 1
    }
    const value = this.#text.slice(start, this.#at)
    return value === 'NULL' ? null : value.replace(/\\(.)/gs, '$1')
  }
}

/** The text that array_in reads back as the same array. */
export function formatArray(elements: ArrayTexts): string {
  const texts = elements.map((element) => {
    if (element === null) return 'NULL'
    return typeof element === 'string' ? `"${element.replace(/["\\]/g, '\\$&')}"` : formatArray(element)
  })
  return `{${texts.join(',')}}`
}
