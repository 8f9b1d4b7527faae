import { VitrinaError } from '../model/errors.js'

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}

export function quoteList(names: readonly string[], prefix = ''): string {
  return names.map((name) => prefix + quoteIdentifier(name)).join(', ')
}

/** A table in a schema, both unquoted. */
export interface TableName {
  readonly schema: string
  readonly table: string
}

export function quoteTable(name: TableName): string {
  return `${quoteIdentifier(name.schema)}.${quoteIdentifier(name.table)}`
}

/** Reads `analytics.film_dim` or `analytics."Film Dim"`. Names without quotes fold as in PostgreSQL: only a to z. */
export function parseTable(text: string): TableName {
  const part = '(?:"((?:[^"]|"")+)"|([\\p{L}_][\\p{L}\\p{N}_$]*))'
  const found = new RegExp(`^${part}\\.${part}$`, 'u').exec(text.trim())
  if (found === null) {
    throw new VitrinaError(
      'TARGET_REFUSED',
      `"${text}" is not a table name with its schema.`,
      'Write the target as schema.table, for example analytics.film_dim.',
    )
  }
  const name = (quoted: string | undefined, plain: string | undefined) =>
    quoted?.replaceAll('""', '"') ?? plain?.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) ?? ''
  return { schema: name(found[1], found[2]), table: name(found[3], found[4]) }
}
