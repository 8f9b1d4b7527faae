import type { Way } from '../model/pipeline.js'
import type { Column } from '../sql/selection.js'

/** How the rows of a batch come to stand in the target's session. */
export interface Bringer<Rows> {
  /** Inside the transaction of the batch: returns what to write after FROM. */
  bring(rows: Rows): Promise<string>
  /** Straight into an empty mart; returns how many. Null: this way has nothing faster than `bring`. */
  fill(rows: Rows): Promise<number | null>
  /** `bring` reads the source: its time is that of reading. */
  readonly isReading?: boolean
}

/**
 * The one thing in which pushdown and relay differ: how the rows of a selection get there. Everything after that,
 * merge, checkpoint, quarantine, is the same for both, and for the rows way too.
 */
export interface Mover extends Bringer<string> {
  readonly way: Exclude<Way, 'rows'>
  prepare(): Promise<void>
  /** All rows of a pass, read once, in the order of the selection, into the temporary table `into`. */
  collect(selection: string, into: string, columns: readonly Column[]): Promise<number>
}
