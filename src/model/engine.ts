/** What executes the parts of a run. */
export const ENGINES = ['local', 'spark'] as const
export type Engine = (typeof ENGINES)[number]

/** The name of a profile in the settings of a deployment. */
export const PROFILE_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** A statement with the names of its values, in the order of their numbers, for a program in any language. */
export interface NamedStatement {
  readonly text: string
  readonly values: readonly string[]
}

/** Values by name, in the order that a statement wants them. */
export function valuesFor({ values }: NamedStatement, named: Readonly<Record<string, unknown>>): unknown[] {
  return values.map((name) => named[name])
}

/** Columns as a transform sees them. */
export interface JobColumn {
  readonly name: string
  readonly type: { readonly name: string }
}

/** Consecutive functions whose files are in one folder. */
export interface JobSegment {
  readonly language: string
  readonly folder: string
  readonly files: readonly string[]
  readonly columns: readonly JobColumn[]
  readonly steps: readonly { readonly name: string; readonly columns: readonly JobColumn[] }[]
}

/**
 * Everything that a program outside the runners needs to execute the parts of a run, so that SQL is written in one
 * place only. It is stored with the plan of the parts and contains no secrets.
 */
export interface EngineJob {
  readonly engine: Engine
  /** The ledger is in the main database, and is written in the transaction of the rows. */
  readonly isMain: boolean
  /** For every session. */
  readonly settings: string
  /** Rows in memory at a time, and their bytes. */
  readonly portionRows: number
  readonly portionBytes: number
  /** A SELECT for each part, without what they have in common: `from`, its condition, `order`. */
  readonly read: { readonly from: string; readonly conditions: readonly string[]; readonly order: string }
  readonly snapshot: string
  readonly transforms: readonly JobSegment[]
  readonly write: JobWrite
  /** In the database of the mart. */
  readonly ledger: Readonly<Record<string, NamedStatement>>
}

/** How a portion is written. `gather`: by COPY into a table that is published later; otherwise by staging and merging. */
export type JobWrite =
  | { readonly gather: string }
  | {
      readonly gather: null
      /** Creates the temporary table. */
      readonly stage: string
      readonly clear: string
      readonly copy: string
      readonly mode: 'fill' | 'upsert'
      readonly fill: string
      /** EXPLAIN ANALYZE of the merge, in JSON. */
      readonly upsert: string
      readonly newest: string
      readonly count: string
    }
