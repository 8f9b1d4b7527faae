import type { BatchRecord, Claim } from '../../src/model/claim.js'
import { NO_ROWS } from '../../src/model/run.js'
import { Database } from '../../src/store/database.js'
import { DueRunsRepository } from '../../src/store/runs/due-runs.repository.js'
import { RunQueueRepository } from '../../src/store/runs/run-queue.repository.js'
import { RunnerRegistryRepository } from '../../src/store/runs/runner-registry.repository.js'
import { aPipeline, type PipelineOverrides } from './builders.js'
import { closeAtEnd } from './close-at-end.js'
import { aDatabase, type TestDatabase } from './database.js'

export const LEASE = 30

/** What a runner uses, with its login. */
export function aRunQueue(database: TestDatabase): RunQueueRepository {
  return new RunQueueRepository(aRunnerPool(database))
}

export function aRunnerPool(database: TestDatabase): Database {
  const pool = new Database(database.loginUrl('writer'), { name: 'vitrina-runner', size: 10 })
  closeAtEnd(() => pool.close())
  return pool
}

export type Queue = Awaited<ReturnType<typeof aQueue>>

/** The run queue of a runner, in its own database, with helpers that inspect and change it directly. */
export async function aQueue() {
  const database = await aDatabase()
  const pool = aRunnerPool(database)
  const queue = new RunQueueRepository(pool)
  const dueRuns = new DueRunsRepository(pool)
  const registry = new RunnerRegistryRepository(pool)

  const setStatus = (id: string, status: string) =>
    database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
  const aRequest = async (overrides: PipelineOverrides = {}): Promise<string> => {
    const { id } = await aPipeline(database, overrides)
    await setStatus(id, 'RUN_REQUESTED')
    return id
  }
  const aClaim = async (): Promise<Claim> => {
    await aRequest()
    const claim = await queue.claim('first', LEASE)
    if (claim === null) throw new Error('nothing to claim')
    return claim
  }
  /** Expires the lease without waiting. */
  const expireLease = ({ pipeline }: Claim) =>
    database.query(
      "UPDATE etl.etl_pipelines SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1",
      [pipeline.id],
    )
  const pipelineOf = async ({ pipeline }: Claim) => {
    const sql = 'SELECT status, lease_owner, lease_until, fence::int FROM etl.etl_pipelines WHERE id = $1'
    return (await database.query(sql, [pipeline.id]))[0]
  }
  const runOf = async ({ runId }: Claim) => {
    const sql = 'SELECT *, finished_at IS NOT NULL AS finished FROM etl.etl_runs WHERE id = $1'
    return (await database.query(sql, [runId]))[0]
  }
  return { database, queue, dueRuns, registry, setStatus, aRequest, aClaim, expireLease, pipelineOf, runOf }
}

export const aBatch: BatchRecord = {
  batch: 1,
  step: 'write',
  rows: { ...NO_ROWS, read: 5, inserted: 3, updated: 2 },
  firstKey: 'a',
  lastKey: 'e',
  durationMs: 12.5,
  phases: { readMs: null, transformMs: null, writeMs: 11.5, checkpointMs: 1 },
  copiedCheckpoint: null,
}
export const progress = { rows: aBatch.rows, batches: 1 }
