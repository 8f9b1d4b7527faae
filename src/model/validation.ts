import type { Guarantee, Strategy, Way } from './pipeline.js'
import type { IdentityAdvice } from './source.js'

/** An error in a pipeline, or a warning for its owner. */
export interface Finding {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** The SQLSTATE, if PostgreSQL rejected something. */
  readonly sqlstate?: string | null
  /** The field it refers to, with its name in the API. */
  readonly field: string
  /** The position in the text of that field; null if it is about the whole field. */
  readonly position: { readonly offset: number; readonly line: number; readonly column: number } | null
}

export interface Validation {
  readonly valid: boolean
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly strategy: Strategy
  /** Null if there are errors. */
  readonly way: Way | null
  readonly guarantee: Guarantee | null
  /** How the source is read: along an index, or once for each pass. */
  readonly reads: 'paged' | 'once' | null
  /** The first run creates the table. */
  readonly createsTarget: boolean
  /** The estimate of the planner for reading the query once; null if there are errors. */
  readonly plan: QueryPlan | null
  /** How changes of the source are followed; null: rows are read in the order of a key, or all of them. */
  readonly changes: ChangeTrace | null
}

/** How changes of the source are followed to rows of the mart. */
export interface ChangeTrace {
  /** Why a run that finds changes computes the whole query, in a sentence; null: it does not. */
  readonly full: string | null
  /** The key columns whose rows are recomputed together. */
  readonly scope: readonly string[]
  /** The planner's cost of the whole query. */
  readonly fullCost: number | null
  readonly tables: readonly TracedTable[]
  /** For capture key: the columns of base tables that show that a row is new. */
  readonly followed: readonly { readonly table: string; readonly column: string }[]
  /** Columns whose value depends on the plan, not only on the rows. */
  readonly planDependent: readonly { readonly column: string; readonly reason: string }[]
}

/** A base table of the query. */
export interface TracedTable {
  readonly table: string
  /** Why a change of it means the whole query; null: it is traced. */
  readonly reason: string | null
  /** From images of changed rows to the affected keys. */
  readonly keyQueries: readonly string[]
  /** The planner's cost of one changed row, including the rows that are recomputed; null: unknown. */
  readonly cost: number | null
  /** Large tables that one changed row makes a run read in full. */
  readonly scans: readonly string[]
  /** Indexes that would avoid it. */
  readonly indexes: readonly { readonly table: string; readonly statement: string }[]
  /** For capture wal. */
  readonly identity: IdentityAdvice | null
}

/** A table that is read in full. */
export interface WholeScan {
  readonly table: string
  /** From the statistics; null if the table has not been analyzed yet. */
  readonly rows: number | null
  /** The condition that filters rows; null: all rows are read. */
  readonly filter: string | null
  /** Reading the whole table is expensive. */
  readonly isBig: boolean
}

export interface QueryPlan {
  readonly rows: number
  readonly totalCost: number
  readonly scans: readonly WholeScan[]
  /** Indexes that would let an incremental run start where the last one ended. */
  readonly indexes: readonly { readonly table: string; readonly statement: string }[]
}

/** What a query may name, for users who write one. */
export interface SourceTable {
  readonly schema: string
  readonly name: string
  readonly kind: 'table' | 'view'
  /** From the statistics; null: unknown. */
  readonly rows: number | null
  readonly columns: readonly { readonly name: string; readonly type: string; readonly notNull: boolean }[]
}

export interface SourceTables {
  /** ALLOWED_SOURCE_SCHEMAS. */
  readonly schemas: readonly string[]
  readonly tables: readonly SourceTable[]
  /** There are more than listed. */
  readonly truncated: boolean
}

/** The first rows as they would be written, each value as text. */
export interface Preview {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** Long values are shortened here, never in the mart. */
  readonly truncated: boolean
}
