import type { ScheduledPipeline } from '../model/claim.js'
import type { Pipeline } from '../model/pipeline.js'
import type { TableName } from '../model/table-name.js'

/** Pipelines whose data would become too old. */
export interface DueByFreshness {
  /** The names of those whose run was requested. */
  readonly requested: readonly string[]
  /** The ids of those that wait for their first run until it is known which tables they read. */
  readonly unknown: readonly string[]
  /** When to look again, if that is sooner than a runner usually does. */
  readonly againMs: number | null
}

/** The tables that the query of a pipeline names. */
export type TablesOf = (pipeline: Pipeline) => Promise<readonly TableName[]>

/** Requests the runs that are due: after an upstream, by freshness, by schedule. Any runner may do so at any moment. */
export interface DueRuns {
  /** Requests the runs of followers that are due; returns their ids. */
  requestDue(): Promise<string[]>
  /** Pipelines whose schedule has to be checked, with the time of the database. */
  dueSchedules(): Promise<{ now: string; pipelines: readonly ScheduledPipeline[] }>
  /** Sets the next time, and requests a run if `start`. False: another runner did it first. */
  reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean>
  /** Requests runs of pipelines whose data would become too old. `learned`: ids for which `learnReads` was called. */
  requestByFreshness(learned: readonly string[]): Promise<DueByFreshness>
  /** Stores which tables these pipelines read: their first runs wait for the marts among them. */
  learnReads(ids: readonly string[], tablesOf: TablesOf): Promise<void>
}
