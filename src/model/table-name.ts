/** A table in a schema, both unquoted. */
export interface TableName {
  readonly schema: string
  readonly table: string
}

/** PostgreSQL truncates longer names without an error: two names could then mean one table or one column. */
export const LONGEST_NAME = 63

/** In bytes, not characters: a Cyrillic name may have 31 letters. */
export function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > LONGEST_NAME
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteTable({ schema, table }: TableName): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`
}

const QUOTED = '"((?:[^"]|"")+)"'
const PLAIN = '([\\p{L}_][\\p{L}\\p{N}_$]*)'
const PART = `(?:${QUOTED}|${PLAIN})`
const TABLE = new RegExp(`^${PART}\\.${PART}$`, 'u')

/**
 * Parses `analytics.film_dim` or `analytics."Film Dim"`; null: not a table name with its schema. Names without quotes
 * fold as in PostgreSQL: only a to z.
 */
export function readTableName(text: string): TableName | null {
  const found = TABLE.exec(text.trim())
  if (found === null) return null
  return { schema: nameOf(found[1], found[2]), table: nameOf(found[3], found[4]) }
}

function nameOf(quoted: string | undefined, plain: string | undefined): string {
  return unquote(quoted) ?? plain?.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) ?? ''
}

function unquote(quoted: string | undefined): string | undefined {
  return quoted?.replaceAll('""', '"')
}

/** A rule of an allow-list: one table, or all tables of a schema. */
export interface TableRule {
  readonly schema: string
  /** Null: every table. */
  readonly table: string | null
}

const LITERAL = `(?:${QUOTED}|([^".]+))`
const RULE = new RegExp(`^${LITERAL}\\.(?:(\\*)|${LITERAL})$`, 'u')

/**
 * Parses `analytics.*`, `analytics.film_dim` or `analytics."Film.Dim"`; null: not a rule. A rule names existing
 * objects, so names without quotes are not folded, and `Analytics.*` means the schema with that name.
 */
export function readTableRule(text: string): TableRule | null {
  const found = RULE.exec(text.trim())
  if (found === null) return null
  const [, schemaQuoted, schemaPlain, all, tableQuoted, tablePlain] = found
  return {
    schema: unquote(schemaQuoted) ?? schemaPlain ?? '',
    table: all === '*' ? null : (unquote(tableQuoted) ?? tablePlain ?? ''),
  }
}
