import type { TableName } from './table-name.js'

export type IdentityKind = 'primary key' | 'index' | 'full' | 'nothing'

/** A table with the columns that key queries read from images of its rows. */
export interface FollowedTable extends TableName {
  readonly columns: readonly string[]
}

/** Whether the WAL has what is needed to follow an UPDATE or DELETE of a table, and how to get there. */
export interface IdentityAdvice {
  readonly table: string
  readonly identity: IdentityKind
  /** The columns of the identity. */
  readonly columns: readonly string[]
  /** The columns that pipelines need. */
  readonly needed: readonly string[]
  readonly isLossless: boolean
  /** What makes it lossless, in this order; empty: it is, or nothing does. */
  readonly statements: readonly string[]
  /** Sentences. Null: it is lossless. */
  readonly reason: string | null
  readonly cost: string | null
  readonly until: string | null
}

/**
 * capturing: a runner writes its change log. failing: the last attempt failed. uncaptured: pipelines need it, and no
 * runner captures it. unused: no pipeline has registered yet.
 */
export const SOURCE_STATES = ['capturing', 'failing', 'uncaptured', 'unused'] as const
export type SourceState = (typeof SOURCE_STATES)[number]

/** A pipeline with capture wal. */
export interface SourcePipeline {
  readonly id: string
  readonly name: string
  readonly isLive: boolean
  /** Null: it has not run yet. */
  readonly position: string | null
  /** Changes in the log that it has not used yet, in bytes of WAL; null: unknown, it compares everything next time. */
  readonly lagBytes: number | null
  readonly movedAt: string | null
}

/** A database whose changes are captured, or that a pipeline with capture wal reads. */
export interface CapturedSource {
  /** `main`, or the name of a connection. */
  readonly connection: string
  readonly state: SourceState
  readonly slot: string | null
  readonly publication: string | null
  readonly way: 'stream' | 'peek' | null
  /** The runner that captures; null: none does. */
  readonly owner: string | null
  /** Changes with every new slot; null: no slot yet. */
  readonly generation: string | null
  readonly generationAt: string | null
  /** WAL that was not captured yet. */
  readonly lagBytes: number | null
  /** WAL that the source keeps for the slot. */
  readonly heldBytes: number | null
  /** The log is complete up to this WAL position. */
  readonly upto: string | null
  readonly error: { readonly code: string; readonly message: string; readonly since: string } | null
  /** Why the previous slot could not be used. */
  readonly lost: { readonly reason: string; readonly at: string } | null
  readonly updatedAt: string | null
  readonly pipelines: readonly SourcePipeline[]
  /** The tables of pipelines that have run. */
  readonly tables: readonly FollowedTable[]
}
