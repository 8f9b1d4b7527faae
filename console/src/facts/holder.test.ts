import { describe, expect, it } from 'vitest'
import type { Runner } from '../api/wire.js'
import { holderOf } from './holder.js'
import { wroteNothingUnlikeUsual } from './run-result.js'

const NOW = Date.parse('2026-11-15T10:00:00Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString()

function runner(id: string, heartbeat: number, lease: number | null = null): Runner {
  const held = { pipeline_id: 'p', name: 'films', status: 'RUNNING', run_id: 'r1' }
  return {
    ...{ id, host: 'h', pid: 1, version: '1', concurrency: 4, started_at: ago(600), stopped_at: null },
    heartbeat_at: ago(heartbeat),
    heartbeat_age_ms: heartbeat * 1000,
    holds: lease === null ? [] : [{ ...held, lease_until: ago(-lease) }],
  } as Runner
}

describe('the holder of a run', () => {
  const run = { id: 'r1', runner_id: 'a' }

  it('is alive while it sends heartbeats and its lease is valid', () => {
    expect(holderOf(run, [runner('a', 2, 25)], NOW)).toEqual({
      ...{ state: 'alive', silentMs: 2000, leaseLeftMs: 25_000, others: 0 },
    })
  })

  it('is unresponsive after 15 s or when its lease has expired; others may take over', () => {
    expect(holderOf(run, [runner('a', 20, 10), runner('b', 1)], NOW)).toMatchObject({
      ...{ state: 'silent', leaseLeftMs: 10_000, others: 1 },
    })
    expect(holderOf(run, [runner('a', 4, -1), runner('b', 60)], NOW)).toMatchObject({
      ...{ state: 'silent', leaseLeftMs: 0, others: 0 },
    })
  })

  it('has stopped when it shut down and released the run', () => {
    expect(holderOf(run, [{ ...runner('a', 3), stopped_at: ago(2) }], NOW)).toMatchObject({
      state: 'stopped',
    })
    // It could not release the run: its lease must expire first.
    expect(holderOf(run, [{ ...runner('a', 3, 20), stopped_at: ago(2) }], NOW)).toMatchObject({
      ...{ state: 'silent', leaseLeftMs: 20_000 },
    })
  })

  it('is null when it is unknown', () => {
    expect(holderOf(run, [runner('b', 1)], NOW)).toBeNull()
    expect(holderOf({ id: 'r1', runner_id: null }, [runner('a', 1)], NOW)).toBeNull()
  })
})

describe('a run that wrote nothing', () => {
  const run = { status: 'SUCCESS', trigger: 'schedule', rows_written: 0, rows_deleted: 0 } as const

  it('is reported when its pipeline usually writes many rows', () => {
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: 1204 })).toBe(true)
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: 0 })).toBe(false)
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: null })).toBe(false)
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: 1204, rows_deleted: 3 })).toBe(false)
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: 1204, trigger: 'repair' })).toBe(false)
    expect(wroteNothingUnlikeUsual({ ...run, usual_rows_written: 1204, status: 'FAILED' })).toBe(false)
  })
})
