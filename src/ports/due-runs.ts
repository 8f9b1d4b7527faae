import type { ScheduledPipeline } from '../model/claim.js'

/** Requests the runs that are due: after an upstream, by freshness, by schedule. Any runner may do so at any moment. */
export interface DueRuns {
  /** Requests the runs of followers that are due; returns their ids. */
  requestDue(): Promise<string[]>
  /** Pipelines whose schedule has to be checked, with the time of the database. */
  dueSchedules(): Promise<{ now: string; pipelines: readonly ScheduledPipeline[] }>
  /** Sets the next time, and requests a run if `start`. False: another runner did it first. */
  reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean>
  /** Requests runs of pipelines whose data would become too old. Returns their names. */
  requestByFreshness(): Promise<string[]>
}
