import { aCountedMart, type CountedMart, signatures, type Writes, writesOf } from '../support/counted-mart.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runById, runEnded, type StoredRun } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'
import { STRATEGIES, type Strategy } from './strategies.js'

/** One runner that is struck down at one point of one strategy. */
export interface Case {
  readonly title: string
  readonly strategy: Strategy
  readonly warehouse: boolean
  /** `batch.merged@2` */
  readonly point: string
}

export interface Outcome {
  readonly run: StoredRun
  readonly writes: Writes
  readonly source: string
  readonly mart: string
}

const ALL: readonly Case[] = Object.entries<Strategy>(STRATEGIES).flatMap(([name, strategy]) =>
  [false, true].flatMap((warehouse) =>
    strategy.points.map((point) => ({
      title: `${point}: ${name}, ${warehouse ? 'relay into another database' : 'pushdown'}`,
      strategy,
      warehouse,
      point,
    })),
  ),
)

/** In `npm test` a sample in which every failpoint, and every strategy on both ways, is struck at least once. */
export function casesFor(how: 'kill' | 'freeze'): readonly Case[] {
  return sampleOf(ALL, {
    key: ({ title }) => `${how} ${title}`,
    labels: ({ title, point }) => [point.split('@')[0]!, title.split(': ')[1]!],
  })
}

/** Many of them spend their time waiting for a lease to end. */
const AT_ONCE = 4

/**
 * All cases, a few at once, before the first test: tests of one file run one after another, and each case
 * waits for a lease. A case that throws is reported by its own test.
 */
export async function strikeAll<T>(
  cases: readonly Case[],
  strike: (one: Case, mart: CountedMart) => Promise<T>,
): Promise<Map<Case, T | Error>> {
  const outcomes = new Map<Case, T | Error>()
  const waiting = [...cases]
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      outcomes.set(one, await strikeOne(one, strike).catch((error: Error) => error))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return outcomes
}

async function strikeOne<T>(one: Case, strike: (one: Case, mart: CountedMart) => Promise<T>): Promise<T> {
  const mart = await aCountedMart({ ...one.strategy.options, warehouse: one.warehouse })
  await one.strategy.before?.(mart)
  const outcome = await strike(one, mart)
  // One that failed is left to the end of the file: its own error says more than the connections it left.
  await mart.main.drop()
  await mart.target.drop()
  return outcome
}

export function armedRunner(mart: CountedMart, failpoint: string): SpawnedVitrina {
  return spawnVitrina(['runner'], {
    DATABASE_URL: mart.main.url,
    ...mart.env,
    VITRINA_FAILPOINT: failpoint,
    RUNNER_LEASE_SECONDS: '1',
    RUNNER_POLL_INTERVAL_MS: '100',
  })
}

/** Requests a run, lets the armed runner have it, and returns when it lies dead or frozen. */
export async function runInto(
  mart: CountedMart,
  point: string,
  how: 'kill' | 'freeze',
): Promise<{ runId: string; victim: SpawnedVitrina }> {
  const runId = await requestRun(mart.main, mart.pipeline.id)
  const victim = armedRunner(mart, `${point}=${how}`)
  let isDead = false
  void victim.exited.then(() => {
    isDead = true
  })
  const struck = () => (how === 'kill' ? isDead : isStopped(victim.pid))
  await waitFor(
    async () => {
      if (struck()) return true
      const { status } = await runById(mart.main, runId)
      if (status !== 'REQUESTED' && status !== 'RUNNING') return true
      return isDead
    },
    { what: `the runner to reach ${point}` },
  )
  if (!struck()) throw new Error(`the runner never reached ${point}:\n${victim.stderr}`)
  return { runId, victim }
}

/** A healthy runner takes over. */
export async function recover<T>(mart: CountedMart, meanwhile: () => Promise<T>): Promise<T> {
  const runner = await aRunner(mart.main, {
    env: { ...mart.env, RUNNER_LEASE_SECONDS: '20', RUNNER_POLL_INTERVAL_MS: '50' },
  })
  try {
    return await meanwhile()
  } finally {
    await runner.stop()
  }
}

export async function outcomeOf(mart: CountedMart, runId: string): Promise<Outcome> {
  const run = await runEnded(mart.main, runId)
  return { run, writes: await writesOf(mart), ...(await signatures(mart)) }
}
