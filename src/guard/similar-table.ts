import type { GuardSession } from '../ports/query-guard.js'
import { quoteTable, type TableName } from '../sql/identifiers.js'
import type { GuardRules } from './verdict.js'

/** A larger catalog is not searched for a misspelt name. */
const MOST_TABLES = 5_000

/** The tables that this login may read. */
const TABLES = `
SELECT n.nspname AS schema, c.relname AS table
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
   AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
 ORDER BY 1, 2 LIMIT ${MOST_TABLES}`

/** The table that was probably meant instead of one that does not exist. Null: none is similar enough. */
export async function similarTable(
  session: GuardSession,
  rules: GuardRules,
  named: readonly TableName[],
): Promise<string | null> {
  const rows = await session.rows<{ schema: string; table: string }>(TABLES, [rules.sourceSchemas])
  const known = new Set(rows.map(textOf))
  const missing = named.find((name) => !known.has(textOf(name)))
  if (missing === undefined) return null
  const [best] = rows
    .map((row) => ({ row, distance: distanceBetween(missing, row) }))
    .sort((a, b) => a.distance - b.distance)
  const isClose = best !== undefined && best.distance <= Math.max(2, Math.floor(missing.table.length / 3))
  return isClose ? written(best.row) : null
}

function textOf({ schema, table }: TableName): string {
  return `${schema}.${table}`
}

/** Quoted only where necessary. */
function written(name: TableName): string {
  const text = textOf(name)
  return /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/.test(text) ? text : quoteTable(name)
}

/** The right table in the wrong schema is one mistake, however different the schema names are. */
function distanceBetween(one: TableName, other: TableName): number {
  return lettersBetween(one.table, other.table) + (one.schema === other.schema ? 0 : 1)
}

/** Number of letters to add, remove or change, ignoring case. */
function lettersBetween(one: string, other: string): number {
  const a = one.toLowerCase()
  const b = other.toLowerCase()
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
