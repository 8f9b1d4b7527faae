import { VitrinaError } from '../model/errors.js'
import {
  isTooLong,
  LONGEST_NAME,
  quoteIdentifier,
  quoteTable,
  readTableName,
  type TableName,
} from '../model/table-name.js'

export { quoteIdentifier, quoteTable, type TableName }

export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}

export function quoteList(names: readonly string[], prefix = ''): string {
  return names.map((name) => prefix + quoteIdentifier(name)).join(', ')
}

/** The table of a target. Throws TARGET_REFUSED. */
export function parseTable(text: string): TableName {
  const name = readTableName(text)
  if (name === null)
    throw new VitrinaError(
      'TARGET_REFUSED',
      `"${text}" is not a table name with a schema.`,
      'Write the target as schema.table, for example analytics.film_dim.',
    )
  const long = [name.schema, name.table].find(isTooLong)
  if (long !== undefined)
    throw new VitrinaError('TARGET_REFUSED', tooLong(long), 'Choose a shorter name for the target.')
  return name
}

/** The message about a name that PostgreSQL would truncate. */
export function tooLong(name: string): string {
  return `The name "${name}" has ${Buffer.byteLength(name)} bytes; PostgreSQL keeps only the first ${LONGEST_NAME}.`
}
