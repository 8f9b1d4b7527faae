import { beforeAll, describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/model/failpoints.js'
import { type Case, casesFor, type Outcome, outcomeOf, recover, runInto, strikeAll } from './sweep.js'

const CASES = casesFor('kill')
let outcomes: Map<Case, (Outcome & { exitCode: number }) | Error>

beforeAll(async () => {
  outcomes = await strikeAll(CASES, async ({ point }, mart) => {
    const { runId, victim } = await runInto(mart, point, 'kill')
    const exitCode = await victim.exited
    return { exitCode, ...(await recover(mart, () => outcomeOf(mart, runId))) }
  })
}, 600_000)

describe('R3.7 R4.5 loses and doubles nothing when the runner is killed at', () => {
  it.each(CASES.map((one) => [one.title, one] as const))('%s', (_, one) => {
    const outcome = outcomes.get(one)!
    if (outcome instanceof Error) throw outcome
    const { run, writes, mart, source, exitCode } = outcome
    expect(exitCode).toBe(137)
    expect(run).toMatchObject({ status: 'SUCCESS', error: null })
    expect(run.attempt).toBeGreaterThan(1)
    expect(mart).toBe(source)
    expect(writes).toEqual({ writes: one.strategy.writes, keys: one.strategy.writes })
    expect(run.rows_inserted + run.rows_updated + run.rows_deleted).toBe(one.strategy.writes)
  })

  // Rows stand in a sink before their checkpoint only there: tests/conformance/sinks kills the runner at that point.
  it('reaches every failpoint between databases', () => {
    const reached = [...outcomes].filter(([, outcome]) => !(outcome instanceof Error))
    expect(new Set(reached.map(([one]) => one.point.split('@')[0]))).toEqual(
      new Set(FAILPOINTS.filter((point) => !['batch.written', 'part.sent'].includes(point))),
    )
  })
})
