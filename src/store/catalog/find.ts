import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import type { State } from '../../ports/catalog.js'
import type { Queryable } from '../database.js'
import { PIPELINE_COLUMNS, type PipelineRow, RUN_COLUMNS, type RunRow, toPipeline, toRun } from '../rows.js'

export async function findPipeline(session: Queryable, id: string): Promise<Pipeline | null> {
  const [row] = await session.query<PipelineRow>(
    `SELECT ${PIPELINE_COLUMNS} FROM etl.etl_pipelines p WHERE p.id = $1`,
    [id],
  )
  return row === undefined ? null : toPipeline(row)
}

/** The current pipeline, locked until the transaction ends. */
export async function lockPipeline(session: Queryable, id: string): Promise<Pipeline | null> {
  // Locked first and read after: one statement would return the tasks as they were before it had to wait for the
  // lock.
  await session.query('SELECT FROM etl.etl_pipelines WHERE id = $1 FOR UPDATE', [id])
  return findPipeline(session, id)
}

export async function findRun(session: Queryable, id: string): Promise<Run | null> {
  const [row] = await session.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id WHERE r.id = $1`,
    [id],
  )
  return row === undefined ? null : toRun(row)
}

export async function findState(session: Queryable, pipelineId: string): Promise<State | null> {
  const [row] = await session.query<{
    last_processed_key: string | null
    last_processed_id: string | null
    updated_at: string
  }>(
    'SELECT last_processed_key, last_processed_id, etl.rfc3339(updated_at) AS updated_at FROM etl.etl_state WHERE pipeline_id = $1',
    [pipelineId],
  )
  if (row === undefined) return null
  return {
    pipelineId,
    lastProcessedKey: row.last_processed_key,
    lastProcessedId: row.last_processed_id,
    updatedAt: row.updated_at,
  }
}
