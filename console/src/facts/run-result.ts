import type { Run, RunDetail } from '../api/wire.js'

/** The run has ended: it is neither requested nor in progress. */
export function isOver(status: Run['status']): boolean {
  return status !== 'REQUESTED' && status !== 'RUNNING'
}

/** Pipelines that usually write fewer rows may write none without a warning. */
const MUCH = 10

/** A run that succeeded without changes although its pipeline usually writes many rows. */
export function wroteNothingUnlikeUsual(
  run: Pick<RunDetail, 'status' | 'trigger' | 'rows_written' | 'rows_deleted' | 'usual_rows_written'>,
): boolean {
  if (run.status !== 'SUCCESS' || run.trigger === 'repair') return false
  return run.rows_written + run.rows_deleted === 0 && (run.usual_rows_written ?? 0) >= MUCH
}
