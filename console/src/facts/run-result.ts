import type { RunDetail } from '../api/wire.js'

/** Fewer rows than this are not much, and none of them is no surprise. */
const MUCH = 10

/** A run that succeeded and changed nothing, although its pipeline usually writes much: good news that deserve a look. */
export function wroteNothingUnlikeUsual(
  run: Pick<RunDetail, 'status' | 'trigger' | 'rows_written' | 'rows_deleted' | 'usual_rows_written'>,
): boolean {
  if (run.status !== 'SUCCESS' || run.trigger === 'repair') return false
  return run.rows_written + run.rows_deleted === 0 && (run.usual_rows_written ?? 0) >= MUCH
}
