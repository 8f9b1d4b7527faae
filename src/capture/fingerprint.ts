import { createHash } from 'node:crypto'
import { kept } from '../postgres/kept-statements.js'
import type { Session } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'
import { relationName } from './relation-name.js'

export interface Structure {
  /** Differs when anything happened to the tables that no message reports. */
  readonly fingerprint: string
  /** For each table that is published: the number of its row in the publication. */
  readonly members: ReadonlyMap<string, string>
}

/*
 * TRUNCATE of one partition, DETACH and DROP of a partition, a table replaced by another of its name, a table that left
 * the publication and came back: none of them sends a message. Nor does a changed expression of a virtual column, or a
 * policy. Read in the snapshot of the run. to_jsonb, because the columns of publications differ between versions.
 *
 * xmin, because all of it may be undone before the next run: a partition that is detached, changed and attached again, a
 * table or a schema that has another name for a while, a publication that leaves deletes out for a while. The rows of the
 * catalogs are the same afterwards, but they are new versions. A harmless change such as GRANT costs one needless
 * comparison.
 */
const FINGERPRINT = kept(`
  WITH RECURSIVE tree AS (
    SELECT c.oid, w.place::text AS path, n.xmin::text AS since FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(schema, name, place)
      JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
    UNION SELECT i.inhrelid, t.path, concat(t.since, '/', i.xmin) FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid),
  facts AS (
    SELECT t.path, c.oid, concat_ws(':', t.since, c.xmin, c.relfilenode, c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity, c.relforcerowsecurity,
             (SELECT string_agg(i.indexrelid::text, ',') FROM pg_index i WHERE i.indrelid = c.oid AND (i.indisreplident OR i.indisprimary)),
             (SELECT string_agg(concat_ws('/', a.attnum, a.xmin, a.attname, a.atttypid, a.attgenerated, d.adbin), ',' ORDER BY a.attnum)
                FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> ''
               WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
             (SELECT string_agg(to_jsonb(o)::text, ',' ORDER BY o.oid) FROM pg_policy o WHERE o.polrelid = c.oid),
             (SELECT string_agg(p.xmin::text || to_jsonb(p)::text || to_jsonb(r)::text, ',') FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
               WHERE p.pubname = $3 AND r.prrelid = c.oid)) AS fact
      FROM tree t JOIN pg_class c ON c.oid = t.oid)
  SELECT md5(string_agg(concat_ws('=', path, oid, fact), ';' ORDER BY path, oid)) AS fingerprint FROM facts`)

const PUBLISHED = kept(`
  SELECT n.nspname AS schema, c.relname AS "table", r.oid::text AS oid
    FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE p.pubname = $1 AND p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate AND p.pubviaroot
     AND to_jsonb(r) ->> 'prqual' IS NULL
     -- Changes of a partition arrive under the name of its topmost published ancestor.
     AND NOT EXISTS (SELECT FROM pg_partition_ancestors(c.oid) AS a(oid) JOIN pg_publication_rel o ON o.prrelid = a.oid
                      WHERE o.prpubid = p.oid AND a.oid <> c.oid)`)

/** In the snapshot of the session's transaction. */
export async function readStructure(
  session: Session,
  publication: string,
  tables: readonly TableName[],
): Promise<Structure> {
  const sorted = [...tables].sort((a, b) => (relationName(a) < relationName(b) ? -1 : 1))
  const names = [sorted.map(({ schema }) => schema), sorted.map(({ table }) => table)]
  const [[row], rows] = await Promise.all([
    session.rows(FINGERPRINT, [...names, publication]),
    session.rows(PUBLISHED, [publication]),
  ])
  const members = new Map(
    rows.map((member) => [relationName({ schema: member.schema!, table: member.table! }), member.oid!]),
  )
  // The names too: a query that reads other tables is another query.
  const relations = sorted.map(relationName).join(',')
  const fingerprint = createHash('sha256').update(`${row?.fingerprint}:${relations}`).digest('hex')
  return { fingerprint, members }
}
