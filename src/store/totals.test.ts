import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { RUN_DURATION } from '../telemetry/families.js'
import type { Queryable } from './database.js'
import { runTotals } from './totals.js'

/** A run that ended this many seconds after it began. */
async function ran(
  database: TestDatabase,
  pipelineId: string,
  { seconds, status = 'SUCCESS' }: { readonly seconds: number | null; readonly status?: string },
) {
  await database.query(
    `INSERT INTO etl.etl_runs (pipeline_id, status, started_at, finished_at, rows_read, rows_inserted)
     VALUES ($1, $2, to_timestamp(1700000000), to_timestamp(1700000000) + make_interval(secs => $3), 10, 4)`,
    [pipelineId, status, seconds],
  )
}

async function aPast(database: TestDatabase): Promise<string> {
  const { id } = await aPipeline(database, { name: 'past' })
  for (const bound of RUN_DURATION.buckets) {
    await ran(database, id, { seconds: bound })
    await ran(database, id, { seconds: bound + 0.001, status: 'FAILED' })
  }
  // Cancelled before it began.
  await ran(database, id, { seconds: null, status: 'CANCELLED' })
  return id
}

const queryable = (database: TestDatabase): Queryable => database as unknown as Queryable

describe('the totals of a pipeline', () => {
  it('count a run into the bucket of its duration, the bound included', async () => {
    const database = await aDatabase()
    await aPast(database)
    const [totals] = await runTotals(queryable(database))
    const runs = RUN_DURATION.buckets.length * 2
    expect(totals).toMatchObject({
      runs: { SUCCESS: 10, FAILED: 10, PAUSED: 0, CANCELLED: 1 },
      rows: { read: 210, inserted: 84 },
      durations: { count: runs, within: RUN_DURATION.buckets.map((_, n) => 2 * n + 1) },
    })
  })

  it('stay when runs are deleted, and are deleted with the pipeline', async () => {
    const database = await aDatabase()
    const id = await aPast(database)
    const before = await runTotals(queryable(database))
    await database.query('DELETE FROM etl.etl_runs')
    expect(await runTotals(queryable(database))).toEqual(before)
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
    expect(await runTotals(queryable(database))).toEqual([])
  })

  it('count a run once, when it ends, in any way', async () => {
    const database = await aDatabase()
    const { id } = await aPipeline(database)
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE id = $1", [id])
    const runsOf = async () => (await runTotals(queryable(database)))[0]!.runs
    expect(await runsOf()).toEqual({ SUCCESS: 0, FAILED: 0, PAUSED: 0, CANCELLED: 0 })
    await database.query("UPDATE etl.etl_pipelines SET status = 'IDLE' WHERE id = $1", [id])
    await database.query("UPDATE etl.etl_runs SET error = 'read by a user'")
    expect(await runsOf()).toEqual({ SUCCESS: 0, FAILED: 0, PAUSED: 0, CANCELLED: 1 })
  })

  it('are the same when the migration finds existing runs', async () => {
    const database = await aDatabase()
    await aPast(database)
    const kept = await database.query('SELECT * FROM etl.etl_run_totals')
    await database.query('DELETE FROM etl.etl_run_totals')
    const migration = readFileSync(new URL('migrations/0008_operation.sql', import.meta.url), 'utf8')
    await database.query(/^INSERT INTO etl\.etl_run_totals\nSELECT[\s\S]*?;/m.exec(migration)![0])
    expect(await database.query('SELECT * FROM etl.etl_run_totals')).toEqual(kept)
  })

  it('are read without reading the history', async () => {
    const database = await aDatabase()
    const id = await aPast(database)
    await ran(database, id, { seconds: null, status: 'RUNNING' })
    const client = await database.client()
    // A table this small is read in full unless that is made expensive.
    await client.query('BEGIN; SET LOCAL enable_seqscan = off')
    await runTotals({ query: async (text, values) => (await client.query(text, values as unknown[])).rows })
    const { rows } = await client.query(
      "SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_xact_user_tables WHERE relid = 'etl.etl_runs'::regclass",
    )
    await client.query('COMMIT')
    expect(Number(rows[0].read)).toBe(1)
  })
})
