import { quoteIdentifier } from '../sql/identifiers.js'

const PLAIN = /^[a-z_][a-z0-9_]*$/

/** A table as the log names it: `content.film_work`, with quotes only where a part needs them. */
export function relationName({ schema, table }: { schema: string; table: string }): string {
  return `${part(schema)}.${part(table)}`
}

function part(name: string): string {
  return PLAIN.test(name) ? name : quoteIdentifier(name)
}
