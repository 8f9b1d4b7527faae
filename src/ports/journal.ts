import type { JournalEvent } from '../model/history.js'

/** What happened in the whole fleet, numbered without gaps in the order in which it became visible. */
export interface Journal {
  /** Numbers what was committed since the last time; true when there was too much for one go. */
  number(): Promise<boolean>
  /** The highest number given so far; 0 when there is none. */
  head(): Promise<number>
  /** The lowest number that is still kept; 0 when there is none. */
  tail(): Promise<number>
  after(seq: number, limit: number): Promise<JournalEvent[]>
  /** Forgets what is older, and keys of requests that may no longer be repeated. */
  forget(hours: number): Promise<void>
  /** Forgets runs that ended longer ago, with their batches and their log. */
  forgetRuns(days: number): Promise<void>
  /** Removes rows of the quarantine that were replayed or discarded longer ago. */
  forgetSettledRows(days: number): Promise<void>
}
