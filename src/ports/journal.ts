import type { JournalEvent } from '../model/history.js'

/** The events of all pipelines and runners, numbered without gaps in the order in which they became visible. */
export interface Journal {
  /** Numbers the events committed since the last call; true if there were too many for one call. */
  number(): Promise<boolean>
  /** The highest number assigned so far; 0 without events. */
  head(): Promise<number>
  /** The lowest number that is still stored; 0 without events. */
  tail(): Promise<number>
  after(seq: number, limit: number): Promise<JournalEvent[]>
  /** Deletes older events, and expired idempotency keys. */
  forget(hours: number): Promise<void>
  /** Deletes runs that ended longer ago, with their batches and their log. */
  forgetRuns(days: number): Promise<void>
  /** Deletes quarantined rows that were replayed or discarded longer ago. */
  forgetSettledRows(days: number): Promise<void>
}
