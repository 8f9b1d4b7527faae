import type { JobSegment } from '../model/engine.js'
import type { RowBatch } from '../sql/row-batch.js'
import type { Column } from '../sql/selection.js'

/** A registered function, as it can be named in a task (R4.9). */
export interface TransformInfo {
  readonly name: string
  readonly language: 'python' | 'typescript'
  /** The signature in the code: `demo_film_dim(rows)`. */
  readonly signature: string
  readonly doc: string
  /** Relative to its folder, with the line. */
  readonly file: string
  /** Columns that it adds or whose type it changes, with PostgreSQL types; those that it removes. */
  readonly adds: Readonly<Record<string, string>>
  readonly drops: readonly string[]
}

export interface TransformList {
  readonly items: readonly TransformInfo[]
  /** Files that could not be loaded, duplicate names. */
  readonly problems: readonly { readonly file: string; readonly message: string }[]
}

/** The transforms that exist now: changed files are read again. */
export interface TransformCatalog {
  list(): Promise<TransformList>
}

/** What a function printed, line by line. */
export type OutputListener = (line: { readonly transform: string; readonly text: string }) => void

/** The transforms of one plan, one after another, for one attempt of one run. */
export interface TransformChain {
  /** The resulting columns: those of the input without dropped ones, with added ones. */
  readonly columns: readonly Column[]
  /** Where its functions are and what they get, for an engine outside the runners. */
  readonly segments: readonly JobSegment[]
  /**
   * Rows in, rows out: it may drop, add and change rows. A second call may start before the first has ended; results
   * are returned in the order of the calls. Throws TRANSFORM_FAILED with the error of the function, and stays usable:
   * the next call gets a new host if the old one is gone.
   */
  run(batch: RowBatch): Promise<RowBatch>
  close(): Promise<void>
}

export interface TransformHosts extends TransformCatalog {
  /** Throws TRANSFORM_UNKNOWN for a name that is not registered. */
  open(
    names: readonly string[],
    columns: readonly Column[],
    options: { readonly signal: AbortSignal; readonly onOutput: OutputListener },
  ): Promise<TransformChain>
  close(): Promise<void>
}
