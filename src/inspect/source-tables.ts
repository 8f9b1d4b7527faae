import type { SourceTable, SourceTables } from '../model/validation.js'
import type { Session } from '../postgres/session.js'

/** Enough for completion; their columns take a megabyte at most. */
const MOST_TABLES = 2_000

/** Only what the guard accepts: no foreign tables, and partitions only through their partitioned table. */
const TABLES = `
SELECT n.nspname AS schema, c.relname AS name, c.relkind::text AS kind,
       CASE WHEN c.reltuples >= 0 AND c.relkind <> 'v' THEN c.reltuples::bigint::text END AS rows,
       (SELECT coalesce(json_agg(json_build_object('name', a.attname, 'notNull', a.attnotnull,
                 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum), '[]')
          FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           AND has_column_privilege(c.oid, a.attnum, 'SELECT'))::text AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
   AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
 ORDER BY n.nspname, c.relname
 LIMIT ${MOST_TABLES + 1}`

/** The tables in these schemas that this login may read. */
export async function sourceTables(session: Session, schemas: readonly string[]): Promise<SourceTables> {
  const rows = await session.rows(TABLES, [schemas])
  const tables = rows.slice(0, MOST_TABLES).map(
    (row): SourceTable => ({
      schema: row.schema!,
      name: row.name!,
      kind: row.kind === 'v' || row.kind === 'm' ? 'view' : 'table',
      rows: row.rows === null || row.rows === undefined ? null : Number(row.rows),
      columns: JSON.parse(row.columns!) as SourceTable['columns'],
    }),
  )
  return { schemas, tables, truncated: rows.length > MOST_TABLES }
}
