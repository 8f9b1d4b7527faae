import type { Lsn } from './lsn.js'
import type { Transaction } from './transaction-builder.js'

/**
 * A commit of the log. Position and number alone are not enough: a restored server gives both to the next transaction,
 * and the second history may be as long as the first.
 */
export interface KnownCommit {
  readonly endLsn: Lsn
  readonly xid: bigint
  readonly stamp: bigint
}

/** What the log knows of its source when a stream begins. */
export interface KnownHistory {
  readonly upto: Lsn
  /** The newest commit in the log; null: none yet. */
  readonly last: KnownCommit | null
}

/**
 * After an interruption the source sends again what was logged but not acknowledged. It has to be the same: a source
 * that was restored to an earlier moment and has since written past `upto` keeps identifier, timeline and slot, and
 * differs only here.
 */
export class HistoryCheck {
  readonly #known: KnownHistory
  /** Null: nothing is expected, or it was seen. */
  #expected: KnownHistory['last']

  constructor(known: KnownHistory, confirmed: Lsn) {
    this.#known = known
    this.#expected = known.last !== null && confirmed < known.last.endLsn ? known.last : null
  }

  /** Whether the transaction is new to the log. Throws HistoryChanged. */
  isNew({ endLsn, stamp, changes }: Transaction, xid: bigint): boolean {
    // Before PostgreSQL 15 also transactions arrive that changed no published table. The log has none of them.
    if (changes.length === 0) return false
    const { last, upto } = this.#known
    if (endLsn === this.#expected?.endLsn) {
      if (xid !== this.#expected.xid || stamp !== this.#expected.stamp) throw new HistoryChanged()
      this.#expected = null
    }
    if (last !== null && endLsn <= last.endLsn) return false
    if (endLsn <= upto) throw new HistoryChanged()
    this.reach(endLsn)
    return true
  }

  /** Everything before this position has been sent. Throws HistoryChanged. */
  reach(lsn: Lsn): void {
    if (this.#expected !== null && lsn > this.#expected.endLsn) throw new HistoryChanged()
  }
}

/** The source does not contain what the log has: it was restored to an earlier moment. */
export class HistoryChanged extends Error {}
