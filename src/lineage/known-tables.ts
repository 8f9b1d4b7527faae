import { READ_ONLY, Session } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'

/** A table or a view as described in the catalog of its database. */
export interface KnownTable extends TableName {
  readonly isView: boolean
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** For a view: its query, and the tables it names. */
  readonly definition: string | null
  readonly reads: readonly TableName[]
}

/** By `schema.table`, both unquoted. */
export type KnownTables = ReadonlyMap<string, KnownTable>

export function tableKey({ schema, table }: TableName): string {
  return JSON.stringify([schema, table])
}

/** Longer than reading a catalog should take. */
const TIMEOUT = '10s'

/** The tables with these names, and everything behind the views among them: one query for a whole fleet. */
export async function readCatalog(
  url: string,
  names: readonly TableName[],
  signal: AbortSignal,
): Promise<KnownTables> {
  const session = await Session.open(url, 'vitrina-lineage', signal)
  try {
    await session.run(`${READ_ONLY}; SET statement_timeout = '${TIMEOUT}'; SET lock_timeout = '2s'`)
    const rows = await session.rows(TABLES, [
      names.map(({ schema }) => schema),
      names.map(({ table }) => table),
    ])
    return new Map(rows.map(toTable).map((table) => [tableKey(table), table]))
  } finally {
    await session.close()
  }
}

function toTable(row: Record<string, string | null>): KnownTable {
  const pairs = (text: string | null | undefined) => JSON.parse(text ?? '[]') as [string, string][]
  return {
    schema: row.schema!,
    table: row.name!,
    isView: row.definition !== null,
    columns: pairs(row.columns).map(([name, type]) => ({ name, type })),
    definition: row.definition ?? null,
    reads: pairs(row.reads).map(([schema, table]) => ({ schema, table })),
  }
}

/** The rewrite rule of a view depends on everything that its query names. */
const READS = `
  FROM pg_catalog.pg_rewrite w
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> w.ev_class
 WHERE w.ev_type = '1' AND w.ev_class =`

const TABLES = `
WITH RECURSIVE reached(oid) AS (
  SELECT c.oid
    FROM unnest($1::text[], $2::text[]) AS asked(schema, name)
    JOIN pg_catalog.pg_namespace n ON n.nspname = asked.schema
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = asked.name
  UNION
  SELECT read.oid FROM reached r CROSS JOIN LATERAL (SELECT d.refobjid ${READS} r.oid) AS read(oid)
)
SELECT n.nspname AS schema, c.relname AS name,
       (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod))
                                    ORDER BY a.attnum)
          FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text AS columns,
       CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END AS definition,
       CASE WHEN c.relkind IN ('v', 'm') THEN (
         SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_array(rn.nspname, rc.relname))
           FROM (SELECT d.refobjid ${READS} c.oid) AS read(oid)
           JOIN pg_catalog.pg_class rc ON rc.oid = read.oid AND rc.relkind IN ('r', 'v', 'm', 'p', 'f')
           JOIN pg_catalog.pg_namespace rn ON rn.oid = rc.relnamespace)::text END AS reads
  FROM reached r
  JOIN pg_catalog.pg_class c ON c.oid = r.oid AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`
