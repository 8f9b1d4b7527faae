import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import {
  aCountedMart,
  type CountedMart,
  countWrites,
  ITEM_TOTALS,
  ITEMS,
  signature,
} from '../support/counted-mart.js'
import type { TestDatabase } from '../support/database.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { ALL_CASES } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

const ROWS = 2_000
/** Three kinds of blows take turns. */
const STRIKES = ALL_CASES ? 24 : 6
const RUNNERS = 3

interface Filled {
  readonly id: string
  readonly database: TestDatabase
  readonly table: string
  readonly query: string
}

/** Four strategies in one database and four into another. */
async function pipelinesOver({ main, target }: CountedMart): Promise<Filled[]> {
  const strategies = [
    { sourceQuery: ITEMS },
    { sourceQuery: ITEM_TOTALS },
    { sourceQuery: ITEMS, mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' },
    { sourceQuery: ITEMS, fullStrategy: 'replace' },
  ] as const
  const filled: Filled[] = []
  for (const [database, targetConnection] of [
    [main, null],
    [target, 'warehouse'],
  ] as const) {
    await database.query('CREATE SCHEMA IF NOT EXISTS analytics')
    for (const spec of strategies) {
      const table = `analytics.chaos_${filled.length}`
      await database.query(
        `CREATE TABLE ${table} (id integer PRIMARY KEY, name text, amount numeric, modified timestamptz)`,
      )
      await countWrites(database, table)
      const { id } = await aPipeline(main, {
        ...spec,
        targetTable: table,
        targetConnection,
        keyColumns: ['id'],
        batchSize: 15,
      })
      filled.push({ id, database, table, query: spec.sourceQuery })
    }
  }
  return filled
}

/** Runners that are struck again and again; a dead one is replaced at once. */
class Fleet {
  readonly #mart: CountedMart
  readonly #runners: SpawnedVitrina[]
  readonly #frozen: SpawnedVitrina[] = []
  #strikes = 0

  constructor(mart: CountedMart) {
    this.#mart = mart
    this.#runners = Array.from({ length: RUNNERS }, () => this.#start())
  }

  async strike(): Promise<void> {
    const victim = this.#runners.shift()!
    const blows = [this.#kill, this.#terminateBackends, this.#freeze]
    await blows[this.#strikes % blows.length]!.call(this, victim)
    this.#strikes += 1
    // One that was frozen two blows ago wakes up: by then its lease has passed, or is just passing.
    if (this.#frozen.length > 1) this.#frozen.shift()!.kill('SIGCONT')
  }

  async end(): Promise<void> {
    for (const runner of this.#frozen) runner.kill('SIGCONT')
    for (const runner of this.#runners) runner.kill('SIGTERM')
    await Promise.all(this.#runners.map((runner) => runner.exited))
  }

  async #kill(victim: SpawnedVitrina): Promise<void> {
    victim.kill('SIGKILL')
    await victim.exited
    this.#runners.push(this.#start())
  }

  async #terminateBackends(victim: SpawnedVitrina): Promise<void> {
    this.#runners.push(victim)
    for (const database of [this.#mart.main, this.#mart.target])
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'vitrina') AND random() < 0.5",
      )
  }

  async #freeze(victim: SpawnedVitrina): Promise<void> {
    victim.kill('SIGSTOP')
    this.#frozen.push(victim)
    this.#runners.push(victim)
  }

  #start(): SpawnedVitrina {
    const { main, env } = this.#mart
    return spawnVitrina(['runner'], {
      DATABASE_URL: main.url,
      ...env,
      RUNNER_LEASE_SECONDS: '1',
      RUNNER_POLL_INTERVAL_MS: '50',
    })
  }
}

/** Whatever stands still is requested again, also what was given up after three deaths. */
async function keepBusy(main: TestDatabase): Promise<void> {
  await main.query(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE target_table LIKE 'analytics.chaos%' AND status IN ('IDLE', 'FAILED', 'PAUSED')",
  )
}

async function batchesDone(main: TestDatabase): Promise<number> {
  const [row] = await main.query<{ n: number }>('SELECT count(*)::int AS n FROM etl.etl_run_batches')
  return row!.n
}

describe('R3.2 R3.7 R4.5 runners that are killed, frozen and cut off at random', () => {
  it('fill every mart completely, and write each row once', async () => {
    const mart = await aCountedMart({ rows: ROWS, warehouse: true })
    const filled = await pipelinesOver(mart)
    const fleet = new Fleet(mart)
    for (let strike = 0; strike < STRIKES; strike++) {
      const before = await batchesDone(mart.main)
      const tenMore = async () => {
        await keepBusy(mart.main)
        return (await batchesDone(mart.main)) > before + 10
      }
      await waitFor(tenMore, { what: 'ten more batches' })
      await fleet.strike()
    }
    await fleet.end()
    await aRunner(mart.main, { env: mart.env })
    const settled =
      "SELECT FROM etl.etl_pipelines WHERE target_table LIKE 'analytics.chaos%' AND status NOT IN ('IDLE', 'FAILED')"
    await waitFor(async () => (await mart.main.query(settled)).length === 0, {
      what: 'all runs to end',
      timeoutMs: 60_000,
    })
    for (const { id, database, table, query } of filled) {
      expect(await run(mart.main, id)).toMatchObject({ status: 'SUCCESS' })
      expect(await signature(database, `SELECT id, name, amount, modified FROM ${table}`), table).toBe(
        await signature(mart.main, query),
      )
      const [writes] = await database.query(
        'SELECT count(*)::int AS writes, count(DISTINCT key)::int AS keys FROM public.writes WHERE mart = $1',
        [table],
      )
      expect(writes, table).toEqual({ writes: ROWS, keys: ROWS })
    }
  }, 180_000)
})
