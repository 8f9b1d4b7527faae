import type { Due, OrderEdge, OrderFacts, OrderGraph, OrderNode, OrderProblem } from '../../model/order.js'
import type { OrderDraft } from '../../ports/catalog.js'
import type { Queryable } from '../database.js'

/** A marked pipeline as the API shows it. */
const DUE = `jsonb_build_object('since', etl.rfc3339(h.since), 'runId', h.planned_run,
  'changed', (SELECT coalesce(jsonb_agg(u.name ORDER BY u.name), '[]') FROM etl.etl_due m JOIN etl.etl_pipelines u ON u.id = m.upstream_id
               WHERE m.pipeline_id = h.pipeline_id AND m.run_id IS NULL),
  'held', CASE WHEN h.code IS NOT NULL THEN jsonb_build_object('code', h.code,
            'upstream', (SELECT u.name FROM etl.etl_pipelines u WHERE u.id = h.upstream_id)) END)`

/** The names of the members of the group of a pipeline. */
const GROUP = `(SELECT array_agg(m.name ORDER BY o.place, m.name) FROM etl.etl_pipeline_groups g
   JOIN etl.etl_pipeline_groups o USING (head_id) JOIN etl.etl_pipelines m ON m.id = o.pipeline_id WHERE g.pipeline_id = p.id)`

export async function orderGraph(database: Queryable): Promise<OrderGraph> {
  const nodes = await database.query<OrderNode & { id: string }>(
    `WITH pending AS MATERIALIZED (SELECT * FROM etl.pending_pipelines())
     SELECT p.id, p.name, p.status, p.enabled, coalesce(t.address, p.target_table) AS target,
            ${GROUP} AS "group",
            (SELECT ${DUE} FROM pending h WHERE h.pipeline_id = p.id) AS due,
            (SELECT jsonb_build_object('id', r.id, 'status', r.status, 'finishedAt', etl.rfc3339(r.finished_at),
                                       'rowsWritten', r.rows_written, 'rowsDeleted', r.rows_deleted)
               FROM etl.etl_runs r WHERE r.pipeline_id = p.id AND r.finished_at IS NOT NULL
              ORDER BY r.requested_at DESC, r.id DESC LIMIT 1) AS "lastRun"
       FROM etl.etl_pipelines p LEFT JOIN etl.etl_pipeline_targets t ON t.pipeline_id = p.id ORDER BY p.name, p.id`,
  )
  const edges = await database.query<OrderEdge & { from: string }>(
    `SELECT DISTINCT e.upstream_id AS "from", e.downstream_id AS "to", e.kind, e.via FROM etl.pipeline_edges e ORDER BY 1, 2, 3, 4`,
  )
  const problems = await database.query<OrderProblem & { about: string }>(
    `SELECT p.id AS "pipelineId", 'AFTER_UNKNOWN' AS code, wanted AS about FROM etl.etl_pipelines p, unnest(p.after) AS wanted
      WHERE NOT EXISTS (SELECT FROM etl.etl_pipelines u WHERE u.name = wanted)
     UNION ALL
     SELECT DISTINCT r.pipeline_id, 'ORDER_CYCLE', split_part(r.identity, '|', 2) FROM etl.etl_pipeline_reads r WHERE r.closes_cycle
     UNION ALL
     SELECT DISTINCT p.id, 'GROUP_APART', e.via FROM etl.etl_pipelines p JOIN etl.pipeline_edges e ON e.downstream_id = p.id AND e.kind = 'lineage'
       JOIN etl.etl_pipelines u ON u.id = e.upstream_id
      WHERE p.consistency = 'group' AND u.consistency = 'group' AND p.enabled AND u.enabled
        AND lower(p.target_connection) IS NOT DISTINCT FROM lower(u.target_connection)
        AND NOT EXISTS (SELECT FROM etl.etl_pipeline_groups g WHERE g.pipeline_id = p.id)
     ORDER BY 1, 2, 3`,
  )
  return { nodes, edges, problems }
}

/** Null: nothing has changed that the pipeline would have to read. */
export async function dueOf(database: Queryable, pipelineId: string): Promise<Due | null> {
  const [row] = await database.query<{ due: Due }>(
    `SELECT ${DUE} AS due FROM etl.pending_pipelines() h WHERE h.pipeline_id = $1`,
    [pipelineId],
  )
  return row?.due ?? null
}

/** Null: the mart of the pipeline is published by itself. */
export async function groupOf(database: Queryable, pipelineId: string): Promise<readonly string[] | null> {
  const [row] = await database.query<{ group: string[] | null }>(
    `SELECT ${GROUP} AS "group" FROM etl.etl_pipelines p WHERE p.id = $1`,
    [pipelineId],
  )
  return row?.group ?? null
}

export async function pipelinesWithoutReads(database: Queryable, isFirst: boolean): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `SELECT p.id FROM etl.etl_pipelines p
       LEFT JOIN etl.etl_known_reads k ON k.pipeline_id = p.id
      WHERE NOT k.in_full OR (k.in_full IS NULL OR $1) AND NOT EXISTS (SELECT FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = p.id)
      ORDER BY p.created_at DESC, p.id LIMIT 10000`,
    [isFirst],
  )
  return rows.map(({ id }) => id)
}

/**
 * The facts of all pipelines as if `drafts` were saved. What a run found to close a cycle is not followed until the
 * pipeline reads other tables, as in etl.note_reads.
 */
export async function orderFactsWith(
  database: Queryable,
  drafts: readonly OrderDraft[],
  deleted: readonly string[],
): Promise<OrderFacts[]> {
  return database.query<OrderFacts & { name: string }>(
    `WITH draft AS MATERIALIZED (
       SELECT d.name, d.after, etl.target_identity(d.target, d.connection) AS target,
              ARRAY(SELECT DISTINCT coalesce(lower(r.connection), '') || '|' || quote_ident(r.schema) || '.' || quote_ident(r."table")
                      FROM jsonb_to_recordset(d.reads) AS r (connection text, schema text, "table" text) ORDER BY 1) AS reads
         FROM jsonb_to_recordset($1) AS d (name text, after text[], target text, connection text, reads jsonb)
     ), saved AS MATERIALIZED (
       SELECT p.name, p.after, coalesce(t.identity, etl.target_identity(p.target_table, p.target_connection)) AS target,
              ARRAY(SELECT r.identity FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = p.id ORDER BY 1) AS reads,
              ARRAY(SELECT r.identity FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = p.id AND NOT r.closes_cycle) AS followed
         FROM etl.etl_pipelines p LEFT JOIN etl.etl_pipeline_targets t ON t.pipeline_id = p.id
     )
     SELECT d.name, d.after, d.target, CASE WHEN d.reads = s.reads THEN s.followed ELSE d.reads END AS reads
       FROM draft d LEFT JOIN saved s USING (name)
     UNION ALL
     SELECT s.name, s.after, s.target, s.followed FROM saved s
      WHERE s.name <> ALL ($2) AND NOT EXISTS (SELECT FROM draft d WHERE d.name = s.name)
      ORDER BY 1`,
    [JSON.stringify(drafts), deleted],
  )
}
