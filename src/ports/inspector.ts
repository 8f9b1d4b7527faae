import type { CheckResult } from '../model/check.js'
import type { Blocker } from '../model/freshness.js'
import type { RelationRead } from '../model/order.js'
import type { Pipeline } from '../model/pipeline.js'
import type { FollowedTable, IdentityAdvice } from '../model/source.js'
import type { Finding, Preview, SourceTables, Validation } from '../model/validation.js'

/** quick: nothing that has to read rows, for requests at every keystroke. */
export type ValidationDepth = 'quick' | 'whole'

/** Inspects what a pipeline would do. Reads only, bounded in rows, bytes and time. */
export interface Inspector {
  /** Closes what it keeps open between requests. */
  close(): Promise<void>
  /**
   * Why the pipeline cannot be saved: the SQL guard rejects its query, or the query does not return a key. A query
   * that only lacks a table may be saved: the table may be created later.
   */
  refusals(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]>
  /** The tables that the pipeline reads, under every name of their database. Without the source: those in its text. */
  reads(pipeline: Pipeline, signal: AbortSignal): Promise<readonly RelationRead[]>
  validate(pipeline: Pipeline, signal: AbortSignal, depth?: ValidationDepth): Promise<Validation>
  /**
   * A session that holds a lock for which a run of the pipeline waits; null: none. `sessionsOf`: the pipelines whose
   * sessions do its work.
   */
  blocker(pipeline: Pipeline, sessionsOf: readonly string[], signal: AbortSignal): Promise<Blocker | null>
  /** Whether rows that are written to the mart call triggers. */
  hasTriggers(pipeline: Pipeline, signal: AbortSignal): Promise<boolean>
  /** Evaluates every check over the rows of the mart. `usual` returns what earlier results observed, newest first. */
  evaluateChecks(
    pipeline: Pipeline,
    usual: (check: string) => Promise<readonly number[]>,
    signal: AbortSignal,
  ): Promise<CheckResult[]>
  preview(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<Preview>
  /** The tables that a query may read, of the main database (null) or of a named connection. */
  tables(connection: string | null, signal: AbortSignal): Promise<SourceTables>
  /** The replica identities of tables of `main` or of a named connection, compared with the columns that are needed. */
  identities(
    connection: string,
    tables: readonly FollowedTable[],
    signal: AbortSignal,
  ): Promise<readonly IdentityAdvice[]>
}
