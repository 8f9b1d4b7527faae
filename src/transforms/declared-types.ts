/** Short names of types, as format_type writes them. */
const ALIASES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  int: 'integer',
  int2: 'smallint',
  int4: 'integer',
  int8: 'bigint',
  float: 'double precision',
  float4: 'real',
  float8: 'double precision',
  decimal: 'numeric',
  string: 'text',
  varchar: 'character varying',
  char: 'character',
  bpchar: 'character',
  time: 'time without time zone',
  timetz: 'time with time zone',
  timestamp: 'timestamp without time zone',
  timestamptz: 'timestamp with time zone',
}

const OIDS: Readonly<Record<string, number>> = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  json: 114,
  real: 700,
  'double precision': 701,
  character: 1042,
  'character varying': 1043,
  date: 1082,
  'time without time zone': 1083,
  'timestamp without time zone': 1114,
  'timestamp with time zone': 1184,
  interval: 1186,
  'time with time zone': 1266,
  numeric: 1700,
  uuid: 2950,
  jsonb: 3802,
}

/** A name, optionally with a schema, or one of the standard's multi-word types: nothing that could be more than a type in CREATE TABLE. */
const TYPE =
  /^(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_]*)(?:\.(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_]*))?$|^(?:double precision|(?:character|bit) varying|time(?:stamp)? with(?:out)? time zone)$/u

/** `timestamptz(3)[]` becomes `timestamp(3) with time zone[]`; null if it is not a type. */
export function declaredType(text: string): string | null {
  const array = /(\[\])+$/.exec(text.trim())?.[0] ?? ''
  const element = text.trim().slice(0, text.trim().length - array.length)
  const modifier = /\(\s*\d+\s*(,\s*-?\d+\s*)?\)/.exec(element)?.[0] ?? ''
  const word = element.replace(modifier, '').replace(/\s+/g, ' ').trim()
  const known = ALIASES[word.toLowerCase()] ?? (word.includes('"') ? word : word.toLowerCase())
  if (!TYPE.test(known)) return null
  const [first = '', ...rest] = known.split(' ')
  const withModifier = /^(time|timestamp)$/.test(first)
    ? [first + modifier.replace(/\s/g, ''), ...rest].join(' ')
    : known + modifier.replace(/\s/g, '')
  return withModifier + (array === '' ? '' : '[]')
}

/** OIDs of built-in types; 0 for a type that only the database knows. */
export function oidOf(type: string): number {
  return OIDS[type.replace(/\([^()]*\)/, '')] ?? 0
}
