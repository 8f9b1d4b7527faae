import type { Run, RunSurroundings } from '../../model/run.js'
import type { Page, RunFilter } from '../../ports/catalog.js'
import type { Queryable } from '../database.js'
import { RUN_COLUMNS, type RunRow, toRun } from '../rows.js'
import { pageOf, readCursor } from './page.js'

/** Newest first. */
export async function listRuns(database: Queryable, filter: RunFilter): Promise<Page<Run>> {
  const { pipelineId, status, since, until, limit, cursor } = filter
  const after = cursor === undefined ? null : readCursor(cursor, 2)
  const rows = await database.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
      WHERE ($1::uuid IS NULL OR r.pipeline_id = $1) AND ($2::timestamptz IS NULL OR (r.requested_at, r.id) < ($2, $3::uuid))
        AND ($5::text[] IS NULL OR r.status = ANY ($5))
        AND ($6::timestamptz IS NULL OR r.requested_at >= $6) AND ($7::timestamptz IS NULL OR r.requested_at < $7)
      ORDER BY r.requested_at DESC, r.id DESC LIMIT $4`,
    [
      pipelineId ?? null,
      after?.[0] ?? null,
      after?.[1] ?? null,
      limit + 1,
      status ?? null,
      since ?? null,
      until ?? null,
    ],
  )
  return pageOf(rows.map(toRun), limit, (run) => [run.requestedAt, run.id])
}

/** This many successful runs define the usual values; fewer than three define nothing. */
const USUAL = { most: 20, least: 3 }

/** Each part reads a few entries of the index on the runs of the pipeline. */
export async function runSurroundings(
  database: Queryable,
  { id, pipelineId, requestedAt, strategy }: Run,
): Promise<RunSurroundings> {
  const neighbour = (than: '<' | '>') => `
    (SELECT id FROM etl.etl_runs WHERE pipeline_id = $1 AND (requested_at, id) ${than} ($2::timestamptz, $3::uuid)
      ORDER BY requested_at ${than === '<' ? 'DESC, id DESC' : ', id'} LIMIT 1)`
  const [row] = await database.query<RunSurroundings>(
    `SELECT ${neighbour('<')} AS "previousId", ${neighbour('>')} AS "nextId",
            (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY rows_written)
               FROM (SELECT rows_written FROM etl.etl_runs
                      WHERE pipeline_id = $1 AND (requested_at, id) < ($2::timestamptz, $3::uuid) AND status = 'SUCCESS'
                      ORDER BY requested_at DESC, id DESC LIMIT ${USUAL.most}) before
             HAVING count(*) >= ${USUAL.least}) AS "usualRowsWritten",
            (SELECT rows_read FROM etl.etl_runs
              WHERE pipeline_id = $1 AND (requested_at, id) < ($2::timestamptz, $3::uuid) AND status = 'SUCCESS'
                AND strategy = $4 AND strategy LIKE '%\\_full'
              ORDER BY requested_at DESC, id DESC LIMIT 1) AS "expectedRowsRead"`,
    [pipelineId, requestedAt, id, strategy],
  )
  return row!
}
