import { describe, expect, it } from 'vitest'
import type { RunDetail } from '../api/wire.js'
import type { BatchFacts, LiveEvent, RunFacts } from './event.js'
import { patchRunDetail, patchRunPages } from './patch-runs.js'

const STARTED = '2026-11-15T10:00:00Z'

const running = {
  id: 'r1',
  pipeline_id: 'p1',
  status: 'RUNNING',
  started_at: STARTED,
  finished_at: null,
  duration_ms: null,
  batches: 1,
  rows_read: 10,
  rows_written: 10,
  rows_inserted: 10,
  rows_updated: 0,
  rows_unchanged: 0,
  rows_deleted: 0,
  rows_quarantined: 0,
  rows_duplicate: 0,
  batch_history: [],
} as unknown as RunDetail

function batch(number: number, facts: Partial<BatchFacts> = {}): LiveEvent {
  const none = {
    rows_inserted: 0,
    rows_updated: 0,
    rows_unchanged: 0,
    rows_deleted: 0,
    rows_quarantined: 0,
    rows_duplicate: 0,
  }
  return {
    ...{ seq: number, at: '2026-11-15T10:00:04Z', pipeline_id: 'p1', run_id: 'r1', kind: 'run.batch' },
    ...{ batch: number, attempt: 1, step: 'full', rows_read: 5, duration_ms: 40, ...none, ...facts },
  } as LiveEvent
}

function status(facts: Partial<RunFacts>, runId = 'r1'): LiveEvent {
  const totals = { batches: 2, rows_read: 15, rows_written: 12, rows_deleted: 0, attempt: 1 }
  return {
    ...{ seq: 9, at: '2026-11-15T10:00:09Z', pipeline_id: 'p1', run_id: runId, kind: 'run.status' },
    ...{ ...totals, cancel_requested: false, runner_id: 'a', error: null, error_code: null, ...facts },
  } as LiveEvent
}

describe('a run on screen', () => {
  it('takes the phases of a batch from its event, and keeps data that events do not contain', () => {
    const known = {
      ...running,
      attempt_history: [],
      previous_run_id: 'r0',
      usual_rows_written: 7,
    } as RunDetail
    const after = patchRunDetail(known, [
      batch(2, { read_ms: 3, write_ms: 30, checkpoint_ms: 1 }),
      status({}),
    ])
    expect(after).toMatchObject({ previous_run_id: 'r0', usual_rows_written: 7, attempt_history: [] })
    expect(after.batch_history[0]).toMatchObject({
      ...{ read_ms: 3, transform_ms: null, write_ms: 30, checkpoint_ms: 1 },
    })
  })

  it('counts a batch once even if it is reported again', () => {
    const once = patchRunDetail(running, [batch(2, { rows_inserted: 1, rows_updated: 2, rows_duplicate: 3 })])
    expect(once).toMatchObject({ batches: 2, rows_read: 15, rows_written: 13, rows_updated: 2 })
    expect([once.rows_duplicate, once.batch_history[0]?.rows_duplicate]).toEqual([3, 3])
    expect(once.batch_history.map((each) => each.batch)).toEqual([2])
    const twice = patchRunDetail(once, [batch(2, { rows_inserted: 1, rows_updated: 2 })])
    expect(twice).toMatchObject({ batches: 2, rows_read: 15 })
    expect(twice.batch_history).toHaveLength(1)
  })

  it('ends with its duration and error, and does not restart', () => {
    const failed = patchRunDetail(running, [status({ status: 'FAILED', error_code: 'KEY_NULL' })])
    expect(failed).toMatchObject({ status: 'FAILED', duration_ms: 9_000, error_code: 'KEY_NULL' })
    expect(patchRunDetail(failed, [status({ status: 'RUNNING' })]).status).toBe('FAILED')
  })

  it('ignores events of other runs', () => {
    expect(patchRunDetail(running, [status({ status: 'FAILED' }, 'r2')])).toBe(running)
  })
})

describe('a list of runs', () => {
  it('updates the run of the event, and is the same object if no run is affected', () => {
    const other = { ...running, id: 'r3' }
    const list = { pages: [{ items: [running, other], next_cursor: null }], pageParams: [null] }
    const patched = patchRunPages(list, [status({ status: 'SUCCESS' })])
    expect(patched.pages[0]?.items.map((run) => run.status)).toEqual(['SUCCESS', 'RUNNING'])
    expect(patched.pages[0]?.items[1]).toBe(other)
    expect(patchRunPages(list, [status({ status: 'SUCCESS' }, 'r2')])).toBe(list)
  })
})
