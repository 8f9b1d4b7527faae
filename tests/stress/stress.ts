import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { onTestFinished } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { SeededRandom } from '../../src/scopes/corpus/seeded-random.js'
import type { Shape } from '../../src/scopes/corpus/shapes.js'
import { migrate } from '../../src/store/migrate.js'
import { grantRoles } from '../../src/store/roles.js'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { runEnded } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'
import { waitFor } from '../support/wait.js'
import { BLOWS, Fleet, type Strikes } from './fleet.js'
import { type Patch, PROBED, patchedBy, ROWS_PREFIX, ROWS_ROUTE, SCOPES_ONLY } from './patches.js'
import { STRESS_LAB, STRESS_TABLES, someShapes } from './shapes.js'
import { endPrepared, nothingWritten, type Written, writeUntil } from './writers.js'

/** Where source, change log and marts are. */
export const LAYOUTS = ['source apart', 'source in the main database'] as const
export type Layout = (typeof LAYOUTS)[number]

export interface StressOptions {
  readonly seed: number
  readonly layout: Layout
  /** How many queries, drawn from all. */
  readonly shapes: number
  readonly runners: number
  readonly mostLostSlots: number
  readonly patches?: readonly Patch[]
}

/** A phase ends when all of this has happened. */
export interface Enough {
  readonly transactions: number
  readonly strikes: number
}

interface Mart {
  readonly id: string
  readonly shape: Shape
  readonly spec: PipelineSpec
  readonly target: TestDatabase
  readonly isLive: boolean
}

/** Rows that a mart has wrongly, or lacks. */
export interface Difference {
  readonly mart: string
  readonly missing: readonly string[]
  readonly surplus: readonly string[]
}

/** What a run found when it compared its mart with the query in its own snapshot; null by pushdown. */
type Probe = Record<'at' | 'pipeline' | 'run' | 'way', string> & Record<'mart' | 'source', string | null>

export interface Figures extends Written, Strikes {
  readonly seed: number
  readonly layout: Layout
  readonly shapes: number
  readonly phases: number
  readonly runs: number
  readonly failedRuns: Record<string, number>
  readonly rowsCompared: number
  /** What runs did that looked for changes, of the runners with a probe. */
  readonly ways: Record<string, number>
  /** Runs whose mart was compared with the query in the snapshot of the run, and those that differed. */
  readonly probed: number
  readonly probedWrong: number
  readonly firstWrong: Probe | null
  readonly differences: readonly Difference[]
}

const WRITERS = 7
/** Batches between two blows. */
const MOST_BATCHES = 16
const STALLED_MS = 6_000
const BUSY_MS = 150
/** Written while all runners are healthy. */
const LAST_TRANSACTIONS = 60

/**
 * Writers that use every kind of transaction, marts of many shapes that follow them by `capture: wal`, and runners that
 * are killed, frozen and cut off. After each phase every mart has to be equal to its query.
 */
export class Stress {
  readonly #options: StressOptions
  readonly #random: SeededRandom
  readonly #main: TestDatabase
  readonly #source: TestDatabase
  readonly #env: Record<string, string>
  readonly #marts: readonly Mart[]
  readonly #written = nothingWritten()
  readonly #strikes: Strikes = { kills: 0, failpoints: 0, freezes: 0, cuts: 0, lostSlots: 0 }
  readonly #differences: Difference[] = []
  #rowsCompared = 0
  #blows = 0
  #phases = 0
  output = ''

  private constructor(
    options: StressOptions,
    parts: {
      random: SeededRandom
      main: TestDatabase
      source: TestDatabase
      env: Record<string, string>
      marts: readonly Mart[]
    },
  ) {
    this.#options = options
    this.#random = parts.random
    this.#main = parts.main
    this.#source = parts.source
    this.#env = parts.env
    this.#marts = parts.marts
  }

  static async create(options: StressOptions): Promise<Stress> {
    const random = new SeededRandom(options.seed)
    const server = await aLogicalServer({ max_connections: '300' })
    onTestFinished(() => server.stop())
    const source = await aDatabase({ migrated: false, server })
    await source.query(STRESS_LAB)
    const isApart = options.layout === 'source apart'
    if (!isApart) await makeMain(source)
    const main = isApart ? await aDatabase() : source
    const warehouse = isApart ? main : await aDatabase({ migrated: false, server })
    for (const database of new Set([main, warehouse])) await prepareTarget(database)
    await prepareSource(main, source, { connection: isApart ? 'src' : 'main', tables: STRESS_TABLES })
    const env = {
      ALLOWED_SOURCE_SCHEMAS: 'lab',
      ...(isApart
        ? { VITRINA_CONNECTION_SRC_URL: source.url }
        : { VITRINA_CONNECTION_DWH_URL: warehouse.url, VITRINA_CAPTURE_DATABASE_URL: source.url }),
    }
    const shapes = someShapes(random, options.shapes)
    const marts: Mart[] = []
    for (const [index, shape] of shapes.entries())
      marts.push(await aMart({ index, shape, isApart, main, warehouse }))
    return new Stress(options, { random, main, source, env, marts })
  }

  /** The first run of every mart, undisturbed: from here on they follow changes. */
  async fill(): Promise<void> {
    await this.#withHealthyRunner(() => Promise.all(this.#marts.map((mart) => this.#firstRun(mart))))
  }

  /** Returns the differences of this phase. */
  async phase(enough: Enough): Promise<readonly Difference[]> {
    this.#phases += 1
    await this.#load(enough)
    await endPrepared(this.#source)
    const found = await this.#compareAll()
    this.#differences.push(...found)
    return found
  }

  async figures(): Promise<Figures> {
    const [runs] = await this.#main.query<{ runs: number; failed: Record<string, number> | null }>(
      `SELECT (SELECT count(*)::int FROM etl.etl_runs) AS runs,
              (SELECT jsonb_object_agg(code, n) FROM (SELECT coalesce(error_code, status) AS code, count(*) AS n FROM etl.etl_runs WHERE status = 'FAILED' GROUP BY 1) f) AS failed`,
    )
    const probes = await this.#probes()
    const ways: Record<string, number> = {}
    for (const { way } of probes) ways[way] = (ways[way] ?? 0) + 1
    const compared = probes.filter(({ mart }) => mart !== null)
    const { seed, layout } = this.#options
    return {
      ...{ seed, layout, shapes: this.#marts.length, phases: this.#phases },
      ...this.#written,
      ...this.#strikes,
      runs: runs!.runs,
      failedRuns: runs!.failed ?? {},
      rowsCompared: this.#rowsCompared,
      ways,
      probed: compared.length,
      probedWrong: compared.filter(({ mart, source }) => mart !== source).length,
      firstWrong: compared.find(({ mart, source }) => mart !== source) ?? null,
      differences: this.#differences,
    }
  }

  async #probes(): Promise<Probe[]> {
    const found: Probe[] = []
    for (const database of new Set(this.#marts.map(({ target }) => target)))
      found.push(
        ...(await database.query<Probe>(
          'SELECT at::text, pipeline, run, way, mart, source FROM public.probes ORDER BY at',
        )),
      )
    return found
  }

  /** Writers, requests for runs and blows, until there was enough of each. */
  async #load({ transactions, strikes }: Enough): Promise<void> {
    const { runners, patches = [], mostLostSlots } = this.#options
    const until = { transactions: this.#written.transactions + transactions, strikes }
    let struck = 0
    const isEnough = () => this.#written.transactions >= until.transactions && struck >= until.strikes
    const fleet = new Fleet({
      ...{
        main: this.#main,
        source: this.#source,
        env: this.#env,
        random: this.#random,
        runners,
        mostLostSlots,
      },
      patches: [ROWS_ROUTE, ...patches],
      strikes: this.#strikes,
    })
    try {
      const writers = Array.from({ length: WRITERS }, (_, number) =>
        writeUntil(this.#source, {
          number,
          random: new SeededRandom(this.#random.int(1_000_000_000)),
          written: this.#written,
          isEnough,
        }),
      )
      const busy = this.#keepBusy(isEnough, fleet)
      while (!isEnough()) {
        const blow = BLOWS[Math.abs(this.#blows++ + this.#options.seed) % BLOWS.length]!
        await this.#moreBatches()
        await fleet.strike(blow)
        struck += 1
      }
      await Promise.all([...writers, busy])
    } finally {
      await fleet.end()
      this.output += fleet.output
    }
  }

  /** A blow that meets runners at work. If none of them gets on, the next blow comes all the same. */
  async #moreBatches(): Promise<void> {
    const batches = async () =>
      (await this.#main.query<{ n: number }>('SELECT sum(batches)::int AS n FROM etl.etl_runs'))[0]!.n
    const before = await batches()
    const wanted = this.#random.int(MOST_BATCHES)
    const isReached = async () => (await batches()) >= before + wanted
    await waitFor(isReached, { what: 'more batches', timeoutMs: STALLED_MS }).catch(() => {})
  }

  /** Whatever does not run is requested again, also what was given up after several deaths. */
  async #keepBusy(isEnough: () => boolean, fleet: Fleet): Promise<void> {
    while (!isEnough()) {
      fleet.wake()
      await this.#main
        .query(
          "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE status IN ('IDLE', 'FAILED', 'PAUSED')",
        )
        // A session that was cut.
        .catch(() => {})
      await delay(BUSY_MS)
    }
  }

  /** Every mart is brought up to date twice: after a lost slot, the first run computes every row, and the second follows. */
  #compareAll(): Promise<Difference[]> {
    return this.#withHealthyRunner(async () => {
      const differences: Difference[] = []
      await this.#runAll()
      await this.#writeMore()
      await this.#runAll()
      for (const mart of this.#marts) {
        const difference = await this.#compare(mart)
        if (difference !== null) differences.push(difference)
      }
      return differences
    })
  }

  async #runAll(): Promise<void> {
    await Promise.all(this.#marts.filter(({ isLive }) => !isLive).map((mart) => this.#runOnce(mart)))
  }

  async #writeMore(): Promise<void> {
    const until = this.#written.transactions + LAST_TRANSACTIONS
    await writeUntil(this.#source, {
      number: WRITERS,
      random: new SeededRandom(this.#random.int(1_000_000_000)),
      written: this.#written,
      isEnough: () => this.#written.transactions >= until,
      keepsStructure: true,
    })
    await endPrepared(this.#source)
  }

  async #withHealthyRunner<T>(work: () => Promise<T>): Promise<T> {
    const { patches = [] } = this.#options
    const runner = spawnVitrina(['runner'], {
      DATABASE_URL: this.#main.url,
      ...this.#env,
      ...patchedBy([ROWS_ROUTE, SCOPES_ONLY, ...patches, ...PROBED]),
      ...{ RUNNER_LEASE_SECONDS: '20', RUNNER_POLL_INTERVAL_MS: '50', RUNNER_CONCURRENCY: '8' },
      LOG_LEVEL: 'warn',
    })
    try {
      return await work()
    } finally {
      await stopped(runner)
      this.output += runner.stderr
    }
  }

  async #firstRun(mart: Mart): Promise<void> {
    if (!mart.isLive) return this.#runOnce(mart)
    const isFilled = `SELECT FROM etl.etl_runs WHERE pipeline_id = $1 AND batches > 0`
    await waitFor(async () => (await this.#main.query(isFilled, [mart.id])).length > 0, {
      what: `${mart.shape.name} to be filled`,
      timeoutMs: 60_000,
    })
    await this.#endLive(mart.id)
  }

  async #runOnce({ id, shape }: Mart): Promise<void> {
    const free = "SELECT FROM etl.etl_pipelines WHERE id = $1 AND status IN ('IDLE', 'FAILED', 'PAUSED')"
    await waitFor(async () => (await this.#main.query(free, [id])).length > 0, {
      what: `${shape.name} to be free`,
      timeoutMs: 120_000,
    })
    const [row] = await this.#main.query<{ run: string }>(
      "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id AS run",
      [id],
    )
    const { status, error } = await runEnded(this.#main, row!.run, 120_000)
    if (status !== 'SUCCESS') throw new Error(`${shape.name} failed: ${error}`)
  }

  async #compare({ shape, target, spec, isLive, id }: Mart): Promise<Difference | null> {
    const expected = await rowTexts(this.#source, shape.sql)
    const table = `SELECT * FROM ${spec.targetTable}`
    if (isLive) {
      const isEqual = async () => {
        // Given up after several deaths in the last phase: an operator would start it again.
        await this.#request(id)
        return isDeepStrictEqual(await rowTexts(target, table), expected)
      }
      // It stays behind only if it is wrong: then the comparison below says how.
      await waitFor(isEqual, { what: `${shape.name} to be live`, timeoutMs: 90_000 }).catch(() => {})
      await this.#endLive(id)
    }
    const actual = await rowTexts(target, table)
    this.#rowsCompared += expected.length
    if (isDeepStrictEqual(actual, expected)) return null
    const inMart = new Set(actual)
    const inSource = new Set(expected)
    return {
      mart: `${shape.name} (${spec.name})`,
      missing: expected.filter((row) => !inMart.has(row)).slice(0, 5),
      surplus: actual.filter((row) => !inSource.has(row)).slice(0, 5),
    }
  }

  async #request(id: string): Promise<void> {
    await this.#main.query(
      "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 AND status IN ('IDLE', 'FAILED', 'PAUSED')",
      [id],
    )
  }

  /** So that the runner can stop without ending a run. */
  async #endLive(id: string): Promise<void> {
    await waitFor(
      async () => {
        await this.#main.query(
          "UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1 AND status = 'RUNNING'",
          [id],
        )
        const [row] = await this.#main.query<{ status: string }>(
          'SELECT status FROM etl.etl_pipelines WHERE id = $1',
          [id],
        )
        return ['PAUSED', 'FAILED'].includes(row!.status)
      },
      { what: 'a live pipeline to pause', timeoutMs: 90_000 },
    )
  }
}

async function stopped(runner: SpawnedVitrina): Promise<void> {
  runner.kill('SIGTERM')
  await runner.exited
}

/** The meta store in the database of the source. */
async function makeMain(database: TestDatabase): Promise<void> {
  await migrate(database.url)
  await grantRoles({ administratorUrl: database.url, sourceSchemas: ['lab'], targetSchemas: ['analytics'] })
}

async function prepareTarget(database: TestDatabase): Promise<void> {
  await database.query(`
    CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE public.probes (at timestamptz DEFAULT clock_timestamp(), pipeline text, run uuid, way text, mart text, source text);
    GRANT USAGE ON SCHEMA public TO PUBLIC; GRANT INSERT ON public.probes TO PUBLIC`)
}

interface MartParts {
  readonly index: number
  readonly shape: Shape
  readonly isApart: boolean
  readonly main: TestDatabase
  readonly warehouse: TestDatabase
}

/** Every third by rows; in one database every other of the rest by pushdown; every fifth is live. */
async function aMart({ index, shape, isApart, main, warehouse }: MartParts): Promise<Mart> {
  const byRows = index % 3 === 2
  const isPushed = !isApart && index % 2 === 0
  const isLive = index % 5 === 1
  const target = isPushed || isApart ? main : warehouse
  const { id, spec } = await aPipeline(main, {
    name: `${byRows ? ROWS_PREFIX : ''}stress_${index}`,
    sourceQuery: shape.sql,
    sourceConnection: isApart ? 'src' : null,
    targetConnection: isApart || isPushed ? null : 'dwh',
    targetTable: `analytics.stress_${index}`,
    keyColumns: [...shape.key],
    mode: 'incremental',
    capture: 'wal',
    deleteBrake: 1,
    freshness: isLive ? 'live' : null,
  })
  return { id, spec, shape, target, isLive }
}
