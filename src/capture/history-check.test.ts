import { describe, expect, it } from 'vitest'
import { HistoryChanged, HistoryCheck } from './history-check.js'
import type { Transaction } from './transaction-builder.js'

const CHANGE = { relation: 'public.t', op: 'I', old: null, new: {} } as const

function commit(endLsn: bigint, changes: Transaction['changes'] = [CHANGE]): Transaction {
  return { endLsn, xid: 0, stamp: endLsn, changes, bytes: 0 }
}

describe('what the source sends again', () => {
  const known = { upto: 1_000n, last: { endLsn: 500n, xid: 7n, stamp: 500n } }

  it('is skipped when the log has it, and continues behind it', () => {
    const check = new HistoryCheck(known, 100n)
    expect(check.isNew(commit(300n), 6n)).toBe(false)
    expect(check.isNew(commit(500n), 7n)).toBe(false)
    expect(check.isNew(commit(1_200n), 9n)).toBe(true)
  })

  it('is refused when the newest commit of the log belongs to another transaction', () => {
    const check = new HistoryCheck(known, 100n)
    expect(() => check.isNew(commit(500n), 8n)).toThrow(HistoryChanged)
  })

  it('is refused when position and number are the same, but not the time', () => {
    const check = new HistoryCheck({ ...known, last: { ...known.last, stamp: 499n } }, 100n)
    expect(() => check.isNew(commit(500n), 7n)).toThrow(HistoryChanged)
  })

  it('is refused when the newest commit of the log is not there any more', () => {
    const check = new HistoryCheck(known, 100n)
    expect(() => check.isNew(commit(1_200n), 9n)).toThrow(HistoryChanged)
    expect(() => check.reach(501n)).toThrow(HistoryChanged)
  })

  it('is refused when it contains a commit that the log should have had', () => {
    const check = new HistoryCheck(known, 500n)
    expect(() => check.isNew(commit(800n), 9n)).toThrow(HistoryChanged)
  })

  it('does not have to contain what was acknowledged', () => {
    const check = new HistoryCheck(known, 500n)
    check.reach(900n)
    expect(check.isNew(commit(1_001n), 9n)).toBe(true)
  })

  it('may contain commits without changes anywhere, as PostgreSQL 14 sends them', () => {
    const check = new HistoryCheck(known, 500n)
    expect(check.isNew(commit(800n, []), 9n)).toBe(false)
  })
})
