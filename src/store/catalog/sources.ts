import type { CapturedSource, FollowedTable, SourcePipeline } from '../../model/source.js'
import { readTableName } from '../../model/table-name.js'
import type { Queryable } from '../database.js'

interface SourceRow extends Omit<CapturedSource, 'tables' | 'pipelines'> {
  readonly pipelines: readonly SourcePipeline[]
  readonly relations: readonly Readonly<Record<string, readonly string[]>>[]
}

/** Heads that are used, and connections of pipelines with capture wal that have not run yet. */
const SOURCES = `
  WITH wal AS (
    SELECT p.id, p.name, coalesce(lower(p.source_connection), 'main') AS connection
      FROM etl.etl_pipelines p WHERE p.capture = 'wal' AND p.mode = 'incremental'),
  known AS (
    SELECT connection FROM wal
    UNION SELECT h.connection FROM etl.etl_change_heads h
     WHERE h.has_slot OR EXISTS (SELECT FROM etl.etl_change_positions p WHERE p.head = h.id))
  SELECT k.connection, h.slot, h.publication, h.way,
         CASE WHEN h.leased_until > now() THEN h.owner END AS owner,
         nullif(h.generation, 0)::text AS generation,
         CASE WHEN h.generation > 0 THEN etl.rfc3339(to_timestamp(h.generation / 1000.0)) END AS "generationAt",
         h.lag_bytes AS "lagBytes", h.held_bytes AS "heldBytes", nullif(h.upto, '0/0')::text AS upto,
         CASE WHEN h.error IS NOT NULL THEN
           jsonb_build_object('code', h.error_code, 'message', h.error, 'since', etl.rfc3339(h.error_since)) END AS error,
         CASE WHEN h.lost IS NOT NULL AND h.lost_at IS NOT NULL THEN
           jsonb_build_object('reason', h.lost, 'at', etl.rfc3339(h.lost_at)) END AS lost,
         etl.rfc3339(h.updated_at) AS "updatedAt",
         CASE WHEN NOT coalesce(h.has_slot, false) AND NOT EXISTS (SELECT FROM etl.etl_change_positions p WHERE p.head = h.id) THEN 'unused'
              WHEN h.error IS NOT NULL THEN 'failing'
              WHEN h.leased_until > now() THEN 'capturing' ELSE 'uncaptured' END AS state,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'name', q.name, 'isLive', coalesce(q.freshness = 'live', false),
                   'position', nullif(o.end_lsn, '0/0')::text,
                   'lagBytes', CASE WHEN o.generation = h.generation AND o.end_lsn > '0/0' THEN greatest(pg_wal_lsn_diff(h.upto, o.end_lsn), 0) END,
                   'movedAt', CASE WHEN o.end_lsn > '0/0' THEN etl.rfc3339(o.updated_at) END) ORDER BY q.name), '[]')
            FROM etl.etl_pipelines q LEFT JOIN wal w ON w.id = q.id AND w.connection = k.connection
            LEFT JOIN etl.etl_change_positions o ON o.pipeline_id = q.id AND o.head = h.id
           WHERE w.id IS NOT NULL OR o.head IS NOT NULL) AS pipelines,
         (SELECT coalesce(jsonb_agg(o.relations), '[]') FROM etl.etl_change_positions o WHERE o.head = h.id) AS relations
    FROM known k LEFT JOIN etl.etl_change_heads h ON h.connection = k.connection
   ORDER BY k.connection <> 'main', k.connection`

export async function listSources(database: Queryable): Promise<CapturedSource[]> {
  const rows = await database.query<SourceRow>(SOURCES)
  return rows.map(({ relations, ...source }) => ({ ...source, tables: tablesOf(relations) }))
}

/** Each table once, with the columns that any pipeline needs. */
function tablesOf(relations: SourceRow['relations']): FollowedTable[] {
  const columns = new Map<string, Set<string>>()
  for (const [name, needed] of relations.flatMap((each) => Object.entries(each))) {
    const all = columns.get(name) ?? new Set()
    columns.set(name, all)
    for (const column of needed) all.add(column)
  }
  return [...columns]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, needed]) => {
      const table = readTableName(name)
      return table === null ? [] : [{ ...table, columns: [...needed] }]
    })
}
