import { beforeAll, describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/model/failpoints.js'
import type { CountedMart } from '../support/counted-mart.js'
import { signatures, writesOf } from '../support/counted-mart.js'
import { runById } from '../support/runs.js'
import { waitFor } from '../support/wait.js'
import { type Case, casesFor, type Outcome, outcomeOf, recover, runInto, strikeAll } from './sweep.js'

interface Woken {
  readonly before: Outcome
  readonly after: Outcome
  readonly exitCode: number
  readonly log: string
}

const CASES = casesFor('freeze')
let outcomes: Map<Case, Woken | Error>

beforeAll(async () => {
  outcomes = await strikeAll(CASES, freeze)
}, 600_000)

async function freeze(one: Case, mart: CountedMart): Promise<Woken> {
  const { runId, victim } = await runInto(mart, one.point, 'freeze')
  // On a busy machine it may have lost its lease before.
  const { attempt } = await runById(mart.main, runId)
  const wake = () => victim.kill('SIGCONT')
  try {
    const before = await recover(mart, async () => {
      // Every other one wakes while its successor is at work, the rest when all is done.
      if (CASES.indexOf(one) % 2 === 0) {
        await takenOver(mart, runId, attempt)
        wake()
      }
      return outcomeOf(mart, runId)
    })
    wake()
    await victim.waitForOutput(/Lease lost: another runner holds the pipeline/)
    victim.kill('SIGTERM')
    const exitCode = await victim.exited
    const after = {
      run: await runById(mart.main, runId),
      writes: await writesOf(mart),
      ...(await signatures(mart)),
    }
    return { before, after, exitCode, log: victim.stderr }
  } finally {
    // Whatever went wrong: a frozen process could not be ended.
    wake()
  }
}

async function takenOver(mart: CountedMart, runId: string, attempt: number): Promise<void> {
  await waitFor(async () => (await runById(mart.main, runId)).attempt > attempt, {
    what: 'another runner to take over',
  })
}

describe('R3.2 a runner that was frozen past its lease and wakes up commits nothing, at', () => {
  it.each(CASES.map((one) => [one.title, one] as const))('%s', (_, one) => {
    const outcome = outcomes.get(one)!
    if (outcome instanceof Error) throw outcome
    const { before, after, exitCode } = outcome
    expect(before.run).toMatchObject({ status: 'SUCCESS', error: null })
    expect(before.mart).toBe(before.source)
    expect(before.writes).toEqual({ writes: one.strategy.writes, keys: one.strategy.writes })
    expect(after).toEqual(before)
    expect(exitCode).toBe(0)
  })

  // Rows stand in a sink before their checkpoint only there: tests/conformance/sinks kills the runner at that point.
  it('reaches every failpoint between databases', () => {
    const reached = [...outcomes].filter(([, outcome]) => !(outcome instanceof Error))
    expect(new Set(reached.map(([one]) => one.point.split('@')[0]))).toEqual(
      new Set(FAILPOINTS.filter((point) => !['batch.written', 'part.sent'].includes(point))),
    )
  })
})
