import { beforeAll, describe, expect, it } from 'vitest'
import { aCountedMart, type CountedMart, signatures, writesOf } from '../support/counted-mart.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, type StoredRun } from '../support/runs.js'
import { someOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'
import { armedRunner } from './sweep.js'

async function pipelineOf({ main, pipeline }: CountedMart) {
  const [row] = await main.query<{ status: string }>('SELECT status FROM etl.etl_pipelines WHERE id = $1', [
    pipeline.id,
  ])
  return row!
}

/** Starts runners with the same fault, one after another, until the run has ended. Returns how many were killed. */
async function restartUntilEnded(mart: CountedMart, runId: string, failpoint: string): Promise<number> {
  for (let killed = 0; ; killed++) {
    const runner = armedRunner(mart, failpoint)
    let isDead = false
    void runner.exited.then(() => {
      isDead = true
    })
    const hasEnded = async () => !['REQUESTED', 'RUNNING'].includes((await runById(mart.main, runId)).status)
    await waitFor(async () => isDead || (await hasEnded()), { what: 'the runner to die or the run to end' })
    if (await hasEnded()) {
      runner.kill('SIGTERM')
      await runner.exited
      return killed
    }
  }
}

/** What it is, the failpoint, and whether the mart is in another database. */
const DEADLY = [
  ['in its first batch', 'batch.merged', false],
  ['before it writes anything, into another database', 'run.prepared', true],
  ['between the lease and COMMIT, into another database', 'lease.renewed', true],
] as const
const CASES = someOf(DEADLY, 1, ([name]) => name)

interface Deaths {
  readonly mart: CountedMart
  readonly killed: number
  readonly run: StoredRun
}

async function dieAgain(point: string, warehouse: boolean): Promise<Deaths> {
  const mart = await aCountedMart({ warehouse, paged: true, stale: 10 })
  const runId = await requestRun(mart.main, mart.pipeline.id)
  const killed = await restartUntilEnded(mart, runId, `${point}=kill`)
  return { mart, killed, run: await runById(mart.main, runId) }
}

describe('R3.7 a pipeline whose runner dies again and again', () => {
  const deaths = new Map<string, Deaths | Error>()
  // At once, before the first test: most of the time is spent waiting for leases to end.
  beforeAll(async () => {
    const strike = async (point: string, warehouse: boolean) =>
      void deaths.set(point, await dieAgain(point, warehouse).catch((error: Error) => error))
    await Promise.all([
      ...CASES.map(([, point, warehouse]) => strike(point, warehouse)),
      strike('batch.committed', false),
    ])
  }, 300_000)

  const deathsAt = (point: string): Deaths => {
    const found = deaths.get(point)!
    if (found instanceof Error) throw found
    return found
  }

  it.each(CASES)(
    '%s is FAILED after three crashes, and succeeds once the cause is removed',
    async (_, point) => {
      const { mart, killed, run: failed } = deathsAt(point)
      // A runner that is too slow for its lease counts as dead too.
      expect(killed).toBeGreaterThan(0)
      expect(killed).toBeLessThanOrEqual(3)
      expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-5003' })
      expect(await pipelineOf(mart)).toEqual({ status: 'FAILED' })
      await aRunner(mart.main, { env: mart.env })
      expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ status: 'SUCCESS' })
      const { source, mart: filled } = await signatures(mart)
      expect(filled).toBe(source)
      expect(await writesOf(mart)).toEqual({ writes: 300, keys: 300 })
    },
  )

  it('is not given up if every attempt makes progress', async () => {
    const { mart, killed, run: ended } = deathsAt('batch.committed')
    // Five batches, and each runner dies after one of them; the sixth finds nothing left to write.
    expect(killed).toBe(5)
    expect(ended).toMatchObject({ status: 'SUCCESS' })
    expect(await writesOf(mart)).toEqual({ writes: 300, keys: 300 })
  })
})
