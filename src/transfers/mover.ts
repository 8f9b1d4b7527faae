import type { Way } from '../model/pipeline.js'
import type { Column } from '../sql/selection.js'

/**
 * The one thing in which the three ways differ: how the rows of a selection come to stand in the target's session.
 * Everything after that, merge, checkpoint, quarantine, is the same for all.
 */
export interface Mover {
  readonly way: Way
  prepare(): Promise<void>
  /** The rows of one batch, inside its transaction: returns what to write after FROM. */
  bring(selection: string): Promise<string>
  /** Straight into an empty mart; returns how many. Null: this way has nothing faster than `bring`. */
  fill(selection: string): Promise<number | null>
  /** All rows of a pass, read once, in the order of the selection, into the temporary table `into`. */
  collect(selection: string, into: string, columns: readonly Column[]): Promise<number>
}
