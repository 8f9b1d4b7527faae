import { describe, expect, it } from 'vitest'
import type { Overview, PipelineLine } from '../api/wire.js'
import type { LiveEvent } from './event.js'
import { patchLine, patchOverview } from './patch-overview.js'

const LINE: PipelineLine = {
  id: 'p1',
  name: 'film_dim',
  tags: [],
  description: '',
  type: 'SQL',
  target_table: 'analytics.film_dim',
  target_connection: null,
  mode: 'full',
  enabled: true,
  status: 'IDLE',
  config_version: 1,
  schedule_interval: null,
  schedule_timezone: 'UTC',
  data_as_of: null,
  budget_seconds: null,
  schedule_period_ms: null,
  next_run_at: null,
  freshness_due_at: null,
  last_success_at: null,
  quarantined: 0,
  compared: { counts: null, rows: null },
  current_run: null,
  last_run: null,
  recent: [],
}

const SUMMARY: Overview['summary'] = {
  now: '2026-11-15T13:00:00.000000Z',
  pipelines: 1,
  queued: 0,
  running: 0,
  paused: 0,
  failed: 0,
  disabled: 0,
  runners_alive: 1,
  runners_known: 1,
}

const OVERVIEW: Overview = { items: [LINE], next_cursor: null, summary: SUMMARY }

let seq = 0
const at = (second: number) => `2026-11-15T13:00:${String(second).padStart(2, '0')}.000000Z`

function runStatus(status: string, second: number, rest: object = {}): LiveEvent {
  seq += 1
  const facts = {
    attempt: 1,
    cancel_requested: false,
    runner_id: 'r1',
    batches: 0,
    rows_read: 0,
    rows_written: 0,
    rows_deleted: 0,
    error: null,
    error_code: null,
  }
  return {
    seq,
    at: at(second),
    kind: 'run.status',
    pipeline_id: 'p1',
    run_id: 'r1',
    status,
    ...facts,
    ...rest,
  } as LiveEvent
}

function batch(n: number, rows: number): LiveEvent {
  seq += 1
  return {
    seq,
    at: at(n),
    kind: 'run.batch',
    pipeline_id: 'p1',
    run_id: 'r1',
    batch: n,
    attempt: 1,
    step: 'full',
    rows_read: rows,
    rows_inserted: rows - 1,
    rows_updated: 1,
    rows_unchanged: 0,
    rows_deleted: 0,
    rows_quarantined: 0,
    rows_duplicate: 0,
    duration_ms: 10,
    ...{ read_ms: null, transform_ms: null, write_ms: null, checkpoint_ms: null },
  }
}

const moved = (from: string, to: string): LiveEvent =>
  ({
    seq: ++seq,
    at: at(1),
    kind: 'pipeline.status',
    pipeline_id: 'p1',
    run_id: 'r1',
    name: 'film_dim',
    from,
    to,
  }) as LiveEvent

describe('the overview after events', () => {
  it('follows a run from its request to its end', () => {
    const after = patchOverview(OVERVIEW, [
      runStatus('REQUESTED', 0),
      moved('IDLE', 'RUN_REQUESTED'),
      runStatus('RUNNING', 2),
      moved('RUN_REQUESTED', 'RUNNING'),
      batch(1, 100),
      batch(2, 50),
    ])
    expect(after.summary).toMatchObject({ queued: 0, running: 1 })
    expect(after.items[0]).toMatchObject({
      status: 'RUNNING',
      current_run: {
        id: 'r1',
        requested_at: at(0),
        started_at: at(2),
        batches: 2,
        rows_read: 150,
        rows_written: 150,
      },
    })
    const ended = patchOverview(after, [
      runStatus('SUCCESS', 9, { rows_read: 150, rows_written: 150, batches: 2 }),
      moved('RUNNING', 'IDLE'),
    ])
    expect(ended.summary).toEqual(SUMMARY)
    expect(ended.items[0]).toMatchObject({
      status: 'IDLE',
      current_run: null,
      last_success_at: at(9),
      last_run: { id: 'r1', status: 'SUCCESS', duration_ms: 7000, rows_written: 150 },
      recent: [{ status: 'SUCCESS', duration_ms: 7000, rows_read: 150, rows_written: 150 }],
    })
  })

  it('counts a batch once, however often it is reported', () => {
    const running = patchLine(LINE, runStatus('RUNNING', 1))
    const twice = [batch(1, 10), batch(1, 10), batch(2, 5), batch(1, 10)].reduce(patchLine, running)
    expect(twice.current_run).toMatchObject({ batches: 2, rows_read: 15 })
  })

  it('applies an end once, and keeps the age of the data if the run failed', () => {
    const running = patchLine({ ...LINE, last_success_at: at(0) }, runStatus('RUNNING', 1))
    const failed = runStatus('FAILED', 3, { error_code: 'KEY_NULL', error: 'no' })
    const once = patchLine(running, failed)
    expect(once).toMatchObject({ last_success_at: at(0), last_run: { error_code: 'KEY_NULL' } })
    expect(patchLine(once, failed)).toBe(once)
  })

  it('keeps twenty bars', () => {
    const bar = { status: 'SUCCESS', duration_ms: 1, rows_read: 1, rows_written: 1 } as const
    const line = patchLine({ ...LINE, recent: Array(20).fill(bar) }, runStatus('FAILED', 3))
    expect(line.recent.map(({ status }) => status)).toEqual(['FAILED', ...Array(19).fill('SUCCESS')])
  })

  it('is the same object if the events do not affect it', () => {
    const other = { ...batch(1, 10), pipeline_id: 'p2' }
    expect(patchOverview(OVERVIEW, [other])).toBe(OVERVIEW)
  })
})

describe('the next run of a line', () => {
  const about = { seq: 1, at: '2026-11-15T13:00:00Z', pipeline_id: 'p1', run_id: null, name: 'film_dim' }
  const next_run_at = '2026-11-15T13:15:00Z'

  it('comes with the run that a schedule requested, and with its own event', () => {
    const line = { ...LINE, next_run_at: '2026-11-15T13:00:00Z' }
    const asked = {
      ...about,
      kind: 'pipeline.status',
      from: 'IDLE',
      to: 'RUN_REQUESTED',
      next_run_at,
    } as const
    expect(patchLine(line, asked)).toMatchObject({ status: 'RUN_REQUESTED', next_run_at })
    expect(patchLine(line, { ...about, kind: 'pipeline.scheduled', next_run_at })).toMatchObject({
      next_run_at,
    })
  })

  it('is kept when an event of an older server does not contain it', () => {
    const line = { ...LINE, next_run_at }
    const ended = { ...about, kind: 'pipeline.status', from: 'RUNNING', to: 'IDLE' } as LiveEvent
    expect(patchLine(line, ended).next_run_at).toBe(next_run_at)
  })
})

describe('the quality of the data', () => {
  const common = { seq: 1, at: at(9), pipeline_id: 'p1', run_id: null }
  const facts = {
    ...{ duration_ms: 12, config_version: 1, source_rows: 71, target_rows: 70 },
    ...{ missing: 1, extra: 0, different: 0, on_their_way: 0, undecided: 0 },
  }

  it('is updated by comparisons, of rows and of counts separately', () => {
    const deep = patchLine(LINE, {
      ...common,
      kind: 'pipeline.compared',
      deep: true,
      matches: false,
      ...facts,
    })
    expect(deep.compared).toEqual({ counts: null, rows: { at: at(9), matches: false, ...facts } })
    const counts = patchLine(deep, {
      ...common,
      kind: 'pipeline.compared',
      deep: false,
      matches: true,
      ...facts,
    })
    expect([counts.compared.counts?.matches, counts.compared.rows?.matches]).toEqual([true, false])
  })

  it('has fewer quarantined rows after some were replayed or discarded', () => {
    const line = { ...LINE, quarantined: 3 }
    expect(patchLine(line, { ...common, kind: 'quarantine.settled', rows: 2, released: 2 }).quarantined).toBe(
      1,
    )
    expect(patchLine(line, { ...common, kind: 'quarantine.settled', rows: 9, released: 9 }).quarantined).toBe(
      0,
    )
  })
})
