import type { Lsn } from './lsn.js'
import type { Transaction } from './transaction-builder.js'

export interface Received {
  /** In commit order. */
  readonly transactions: readonly Transaction[]
  /** Every commit that ends at or before this position is among what was received so far. */
  readonly reached: Lsn
}

export interface Receiving {
  /** The position that consumers wait for, which may grow meanwhile; 0: none, or the log has it. */
  readonly wanted: () => Lsn
  readonly timeoutMs: number
}

/** The commits of a slot, from its confirmed position on. Used by one captor; one call at a time. */
export interface ChangeStream {
  readonly way: 'stream' | 'peek'
  /** Returns when a commit arrived, when what is wanted by then is reached, or after `timeoutMs`. */
  receive(options: Receiving): Promise<Received>
  /** The log has committed everything up to here: the source may forget it. */
  acknowledge(upto: Lsn): Promise<void>
  /** `wanted` has grown. */
  wake(): void
  close(): Promise<void>
}
