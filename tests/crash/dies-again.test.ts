import { describe, expect, it } from 'vitest'
import { aCountedMart, type CountedMart, signatures, writesOf } from '../support/counted-mart.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById } from '../support/runs.js'
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

describe('R3.7 a pipeline that brings its runner down again and again', () => {
  it.each([
    ['in its first batch', 'batch.merged', false],
    ['before it writes anything, into another database', 'run.prepared', true],
    ['between the lease and COMMIT, into another database', 'lease.renewed', true],
  ])('%s is FAILED after three deaths, and works when the cause is gone', async (_, point, warehouse) => {
    const mart = await aCountedMart({ warehouse, paged: true, stale: 10 })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    expect(await restartUntilEnded(mart, runId, `${point}=kill`)).toBe(3)
    expect(await runById(mart.main, runId)).toMatchObject({ status: 'FAILED', error_code: 'VTR-5003' })
    expect(await pipelineOf(mart)).toEqual({ status: 'FAILED' })
    await aRunner(mart.main, { env: mart.env })
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ status: 'SUCCESS' })
    const { source, mart: filled } = await signatures(mart)
    expect(filled).toBe(source)
    expect(await writesOf(mart)).toEqual({ writes: 300, keys: 300 })
  })

  it('but gets on with every life is not given up', async () => {
    const mart = await aCountedMart({ paged: true, stale: 10 })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    // Five batches, and each runner dies after one of them; the sixth finds nothing left to write.
    expect(await restartUntilEnded(mart, runId, 'batch.committed=kill')).toBe(5)
    expect(await runById(mart.main, runId)).toMatchObject({ status: 'SUCCESS' })
    expect(await writesOf(mart)).toEqual({ writes: 300, keys: 300 })
  })
})
