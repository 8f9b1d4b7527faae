import type { TableName } from '../sql/identifiers.js'
import type { ReplicaIdentity } from './query-facts.js'

/** What is known about following changes through a query. Plain data: it can be kept, shown and compared. */
export type ScopeTrace = Traced | NotTraced

export interface Traced {
  readonly traced: true
  /** The key columns that separate independent rows: the unit that is recomputed. */
  readonly scope: readonly ScopeColumn[]
  /** Every base table of the query, in the order of the text. */
  readonly tables: readonly TableTrace[]
  readonly recompute: Recompute
  readonly planDependent: readonly PlanDependentColumn[]
}

/** Every change means the full query. */
export interface NotTraced {
  readonly traced: false
  /** A sentence for the person who wrote the query. */
  readonly reason: string
  readonly planDependent: readonly PlanDependentColumn[]
}

export interface ScopeColumn {
  readonly name: string
  readonly type: string
  /** Rows with NULL here are in no scope: a target that accepts them as keys has to run the full query. */
  readonly mayBeNull: boolean
}

export interface TableTrace {
  readonly table: TableName
  /** Under which name its changes are captured: for a partition, the partitioned table at the top. */
  readonly capturedAs: TableName
  readonly occurrences: readonly OccurrenceTrace[]
  /** Columns that key queries read from images of its rows, in the order of the table. */
  readonly columns: readonly string[]
  /** Those of them that are generated, which logical decoding leaves out unless configured otherwise. */
  readonly generatedColumns: readonly string[]
  readonly primaryKey: readonly string[]
  readonly identity: ReplicaIdentity
  /** Whether an UPDATE or DELETE leaves all of `columns` in the WAL. */
  readonly isLossless: boolean
}

export type OccurrenceTrace =
  | { readonly traced: true; readonly keyQuery: KeyQuery }
  /** A change of this table means the full query; the sentence says why. */
  | { readonly traced: false; readonly reason: string }

/** From changed rows of one occurrence to the scopes that they can touch. */
export interface KeyQuery {
  /** Returns each scope once, as text: k0, k1, … in the order of the scope. Never one with a NULL. */
  readonly text: string
  /** $1, $2, …: each one an array of text. */
  readonly parameters: readonly ImageParameter[]
  /** Tables that it reads, besides the images. */
  readonly reads: readonly TableName[]
  /**
   * It computes something that may fail on a row which the query leaves out, such as a division. A caller inside a
   * transaction needs a savepoint, and takes an error as "not known": the full query.
   */
  readonly mayFail: boolean
}

/** The values of one column in the images of a table's rows, one for each image, in the same order for all columns. */
export interface ImageParameter {
  readonly table: TableName
  readonly capturedAs: TableName
  readonly column: string
  /** changed: old and new images. old: old images only; the new rows are in the table. */
  readonly images: 'changed' | 'old'
}

/** Three statements with the same rows for the given scopes; `full` has those of all the others too. */
export interface Recompute {
  /** One parameter for each scope column: an array of text, one element for each scope. */
  readonly lateral: string
  readonly any: string
  /** No parameters. */
  readonly full: string
  /** The query inside the first two: its WITH queries are written NOT MATERIALIZED. */
  readonly inlined: string
}

export type RecomputeWay = 'lateral' | 'any' | 'full'

/** A column whose value two plans may compute differently from the same rows. */
export interface PlanDependentColumn {
  readonly name: string
  readonly reason: string
}
