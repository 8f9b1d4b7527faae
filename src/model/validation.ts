import type { Guarantee, Strategy, Way } from './pipeline.js'

/** Something that is wrong with a pipeline, or that its owner should know. */
export interface Finding {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** The SQLSTATE behind it, where PostgreSQL refused something. */
  readonly sqlstate?: string | null
  /** The field it speaks of, in the API's names. */
  readonly field: string
  /** Where in the text of that field; null when it is about the whole. */
  readonly position: { readonly offset: number; readonly line: number; readonly column: number } | null
}

export interface Validation {
  readonly valid: boolean
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly strategy: Strategy
  /** Null as long as there are errors. */
  readonly way: Way | null
  readonly guarantee: Guarantee | null
  /** How the source is read: along an index, or once for each pass. */
  readonly reads: 'paged' | 'once' | null
  /** The table will be created by the first run. */
  readonly createsTarget: boolean
  /** What the planner expects of reading the query once; null as long as there are errors. */
  readonly plan: QueryPlan | null
}

/** A table that is read from its first row to its last. */
export interface WholeScan {
  readonly table: string
  /** As the statistics have it; null when nobody has analysed the table yet. */
  readonly rows: number | null
  /** What keeps rows out while it is read; null: all are taken. */
  readonly filter: string | null
  /** So large that reading all of it is worth a thought. */
  readonly isBig: boolean
}

export interface QueryPlan {
  readonly rows: number
  readonly totalCost: number
  readonly scans: readonly WholeScan[]
  /** Indexes that would let an incremental run begin where the last one ended. */
  readonly indexes: readonly { readonly table: string; readonly statement: string }[]
}

/** What a query may name, for whoever writes one. */
export interface SourceTable {
  readonly schema: string
  readonly name: string
  readonly kind: 'table' | 'view'
  /** As the statistics have it; null when they say nothing. */
  readonly rows: number | null
  readonly columns: readonly { readonly name: string; readonly type: string; readonly notNull: boolean }[]
}

export interface SourceTables {
  /** ALLOWED_SOURCE_SCHEMAS. */
  readonly schemas: readonly string[]
  readonly tables: readonly SourceTable[]
  /** There are more than are told. */
  readonly truncated: boolean
}

/** The first rows as they would be written, each value as text. */
export interface Preview {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** Values that were too long to show are cut here, never in the mart. */
  readonly truncated: boolean
}
