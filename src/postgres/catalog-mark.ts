import { databaseError } from './errors.js'
import { kept } from './kept-statements.js'

interface Queryable {
  rows<R extends Record<string, string | null>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/** Digest of the catalog entries that something depends on. Reading it writes nothing. */
export interface CatalogMark {
  readonly relations: readonly string[]
  readonly types: readonly string[]
  /** Primary keys on which GROUP BY relies. */
  readonly constraints: readonly string[]
  readonly digest: string
}

/** For what depends on relations only. */
export function markRelations(session: Queryable, relations: readonly string[]): Promise<CatalogMark> {
  return markCatalogs(session, { relations, types: [], constraints: [] })
}

export async function markCatalogs(
  session: Queryable,
  marked: Omit<CatalogMark, 'digest'>,
): Promise<CatalogMark> {
  return { ...marked, digest: await digestOf(session, marked) }
}

export async function isUnchanged(session: Queryable, mark: CatalogMark): Promise<boolean> {
  return (await digestOf(session, mark)) === mark.digest
}

async function digestOf(
  session: Queryable,
  { relations, types, constraints }: Omit<CatalogMark, 'digest'>,
): Promise<string> {
  const [row] = await session.rows(DIGEST, [relations, types, constraints]).catch((error) => {
    throw databaseError(error, 'Resolving the source query', 'source')
  })
  return row!.digest!
}

/**
 * Every change of a catalog row gives it a new xmin: of a table, its columns and the grants on both, of the query of a
 * view, of a schema. Partitions and children are counted by their parents. New casts, operators and functions might
 * change the meaning of an expression.
 */
const DIGEST = kept(`
SELECT pg_catalog.md5(pg_catalog.string_agg(line, ' ' ORDER BY line)) AS digest FROM (
  SELECT pg_catalog.concat_ws(' ', 'login', current_user, d.oid) AS line
    FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'relation', c.oid, c.xmin, n.oid, n.xmin)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE c.oid = ANY ($1::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'columns', a.attrelid, pg_catalog.string_agg(a.attnum || '/' || a.xmin::pg_catalog.text, ',' ORDER BY a.attnum))
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ($1::pg_catalog.oid[]) AND a.attnum > 0 GROUP BY a.attrelid
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'rule', w.oid, w.xmin)
    FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ANY ($1::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'child', i.inhparent, i.inhrelid, i.xmin)
    FROM pg_catalog.pg_inherits i WHERE i.inhparent = ANY ($1::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'type', t.oid, t.xmin)
    FROM pg_catalog.pg_type t WHERE t.oid = ANY ($2::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'constraint', k.oid, k.xmin)
    FROM pg_catalog.pg_constraint k WHERE k.oid = ANY ($3::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'index', x.indexrelid, x.xmin)
    FROM pg_catalog.pg_index x WHERE x.indrelid = ANY ($1::pg_catalog.oid[])
   UNION ALL
  SELECT pg_catalog.concat_ws(' ', 'newest', (SELECT pg_catalog.max(oid) FROM pg_catalog.pg_cast),
    (SELECT pg_catalog.max(oid) FROM pg_catalog.pg_operator), (SELECT pg_catalog.max(oid) FROM pg_catalog.pg_proc))
) AS marks`)
