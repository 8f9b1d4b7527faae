import { describe, expect, it, onTestFinished } from 'vitest'
import { type Patch, patchedBy } from '../stress/patches.js'
import {
  aCountedMart,
  type CountedMart,
  type CountedOptions,
  holdRow,
  signatures,
  type Writes,
  writesOf,
} from '../support/counted-mart.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runById, runEnded, type StoredRun } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

const ROWS = 400
/** Every part has rows that can be locked. */
const STALE = ROWS
const POINTS = ['part.claimed', 'part.read', 'part.written', 'part.committed'] as const

function aPartedMart(options: Partial<CountedOptions> = {}): Promise<CountedMart> {
  const pipeline = { parallelism: 4, ...options.pipeline }
  return aCountedMart({ rows: ROWS, stale: STALE, ...options, pipeline })
}

function aRunnerProcess(mart: CountedMart, env: Record<string, string> = {}): SpawnedVitrina {
  return spawnVitrina(['runner'], {
    DATABASE_URL: mart.main.url,
    ...mart.env,
    RUNNER_CONCURRENCY: '1',
    RUNNER_LEASE_SECONDS: '2',
    RUNNER_POLL_INTERVAL_MS: '100',
    ...env,
  })
}

interface Part {
  readonly part: number
  readonly status: string
  readonly owner: string | null
  readonly attempts: number
  readonly rows: number
}

function partsOf({ main }: CountedMart, runId: string): Promise<Part[]> {
  return main.query<Part & Record<string, unknown>>(
    'SELECT part, status, owner, attempts, rows::int FROM etl.etl_run_parts WHERE run_id = $1 ORDER BY part',
    [runId],
  )
}

interface Helped {
  readonly runId: string
  readonly owner: SpawnedVitrina
  readonly helper: SpawnedVitrina
  /** The owner may continue. */
  release(): Promise<void>
}

/** The owner of a run waits in the first part, so that a second runner takes others. */
async function helped(mart: CountedMart, env: Record<string, string>): Promise<Helped> {
  const held = await holdRow(mart, 1)
  const runId = await requestRun(mart.main, mart.pipeline.id)
  const owner = aRunnerProcess(mart)
  await waitFor(async () => (await partsOf(mart, runId)).some(({ status }) => status === 'RUNNING'), {
    what: 'the owner to work on a part',
  })
  await held.waitForBatch()
  const helper = aRunnerProcess(mart, env)
  onTestFinished(() => void helper.kill('SIGCONT'))
  return { runId, owner, helper, release: () => held.release() }
}

async function struck(helper: SpawnedVitrina, how: 'kill' | 'freeze'): Promise<void> {
  let isDead = false
  void helper.exited.then(() => {
    isDead = true
  })
  await waitFor(async () => (how === 'kill' ? isDead : isStopped(helper.pid)), {
    what: `the second runner to be struck:\n${helper.stderr}`,
  })
}

async function expectExact(mart: CountedMart, run: StoredRun): Promise<void> {
  // One attempt: the run was never taken over.
  expect(run).toMatchObject({ status: 'SUCCESS', error: null, attempt: 1, parts_total: 4, parts_done: 4 })
  expect(run).toMatchObject({ rows_read: ROWS, rows_updated: ROWS, rows_duplicate: 0 })
  const { source, mart: content } = await signatures(mart)
  expect(content).toBe(source)
  expect(await writesOf(mart)).toEqual({ writes: ROWS, keys: ROWS })
}

describe('a runner that works on a part of a run of another one', () => {
  const all = POINTS.flatMap((point) =>
    (['kill', 'freeze'] as const).flatMap((how) =>
      [false, true].map((warehouse) => ({ point, how, warehouse })),
    ),
  )
  const cases = sampleOf(all, {
    key: (one) => JSON.stringify(one),
    labels: ({ point, how, warehouse }) => [point, `${how} ${warehouse}`],
  })

  it.each(cases)(
    'loses its part only: $how at $point, warehouse $warehouse',
    async ({ point, how, warehouse }) => {
      const mart = await aPartedMart({ warehouse })
      const { runId, helper, release } = await helped(mart, { VITRINA_FAILPOINT: `${point}@1=${how}` })
      await struck(helper, how)
      await release()
      const run = await runEnded(mart.main, runId)
      await expectExact(mart, run)
      if (how === 'kill') return
      helper.kill('SIGCONT')
      // Woken, it finds that its part is not its own any more, and stops in good order.
      helper.kill('SIGTERM')
      expect(await helper.exited).toBe(0)
      expect(await runById(mart.main, runId)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
      await expectExact(mart, run)
    },
  )

  it('shares the parts with the holder of the run', async () => {
    const mart = await aPartedMart({ warehouse: true })
    const { runId, release } = await helped(mart, {})
    await waitFor(
      async () => (await partsOf(mart, runId)).filter(({ status }) => status === 'DONE').length === 3,
      {
        what: 'the second runner to finish the other parts',
      },
    )
    await release()
    await expectExact(mart, await runEnded(mart.main, runId))
    const parts = await partsOf(mart, runId)
    expect(parts.map(({ status }) => status)).toEqual(['DONE', 'DONE', 'DONE', 'DONE'])
    expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(ROWS)
    expect(new Set(parts.map(({ owner }) => owner)).size).toBe(2)
  })
})

describe('without the line of a part in the transaction of its rows', () => {
  const LEDGER: Patch = {
    file: 'transfers/parts/part-transfer.js',
    from: 'await (isMain ? notes.done(record, meta) : notes.require());',
    to: 'await notes.require();',
  }

  /** A trigger changes every row of the mart on its way in, so that a row that is written again counts again. */
  async function killedAfterCommit(patches: readonly Patch[]): Promise<Writes> {
    const mart = await aPartedMart()
    await mart.target.query(`
      CREATE FUNCTION public.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.modified := clock_timestamp(); RETURN NEW; END $$;
      CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON analytics.mart FOR EACH ROW EXECUTE FUNCTION public.stamp()`)
    const env = { VITRINA_FAILPOINT: 'part.committed@1=kill', ...patchedBy(patches) }
    const { runId, helper, release } = await helped(mart, env)
    await struck(helper, 'kill')
    await release()
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
    return writesOf(mart)
  }

  it('rows are written twice', async () => {
    const { writes, keys } = await killedAfterCommit([LEDGER])
    expect(keys).toBe(ROWS)
    expect(writes).toBeGreaterThan(ROWS)
  })

  it('and with it once', async () => {
    expect(await killedAfterCommit([])).toEqual({ writes: ROWS, keys: ROWS })
  })
})
