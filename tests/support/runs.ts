import type { TestDatabase } from './database.js'
import { waitFor } from './wait.js'

/** A row of etl.etl_runs, numbers as numbers. */
export interface StoredRun {
  readonly cost_blocks_read: number | null
  readonly cost_wal_bytes: number | null
  readonly id: string
  readonly status: string
  readonly way: string | null
  readonly strategy: string | null
  readonly guarantee: string | null
  readonly attempt: number
  readonly batches: number
  readonly parts_total: number
  readonly parts_done: number
  readonly rows_read: number
  readonly rows_written: number
  readonly rows_inserted: number
  readonly rows_updated: number
  readonly rows_unchanged: number
  readonly rows_deleted: number
  readonly rows_quarantined: number
  readonly rows_duplicate: number
  readonly error: string | null
  readonly error_code: string | null
  readonly error_hint: string | null
  readonly held_back: { reason: string; pid: number | null; since: string | null } | null
}

/** Requests a run with plain SQL, as a user with psql would. Returns the id of the run. */
export async function requestRun(database: TestDatabase, pipelineId: string): Promise<string> {
  const [row] = await database.query<{ current_run_id: string }>(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
    [pipelineId],
  )
  return row!.current_run_id
}

export async function runById(database: TestDatabase, runId: string): Promise<StoredRun> {
  const [row] = await database.query<{ run: StoredRun }>(
    'SELECT to_jsonb(r) AS run FROM etl.etl_runs r WHERE id = $1',
    [runId],
  )
  return row!.run
}

/** Every run of a pipeline, the newest first. */
export async function runsOf(database: TestDatabase, pipelineId: string): Promise<StoredRun[]> {
  return database.query<StoredRun & Record<string, unknown>>(
    'SELECT * FROM etl.etl_runs WHERE pipeline_id = $1 ORDER BY requested_at DESC',
    [pipelineId],
  )
}

/** Waits until a run has ended, successfully or not. */
export function runEnded(database: TestDatabase, runId: string, timeoutMs = 60_000): Promise<StoredRun> {
  return waitFor(
    async () => {
      const run = await runById(database, runId)
      return ['REQUESTED', 'RUNNING'].includes(run.status) ? null : run
    },
    { what: `run ${runId} to end`, timeoutMs },
  )
}

/** Requests a run and waits for its end. Needs a runner. */
export async function run(database: TestDatabase, pipelineId: string): Promise<StoredRun> {
  return runEnded(database, await requestRun(database, pipelineId))
}
