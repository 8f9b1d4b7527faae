import { ACTIVE_RUN_STATUSES, HELD_STATUSES } from '../model/status.js'

/** The statuses of a pipeline that a runner holds, for `status IN`. */
export const HELD = sqlList(HELD_STATUSES)

/** The statuses of a run that has not ended, for `status IN`. */
export const ACTIVE = sqlList(ACTIVE_RUN_STATUSES)

/** Statuses are constants of the program: letters and underscores only. */
function sqlList(statuses: readonly string[]): string {
  return `(${statuses.map((status) => `'${status}'`).join(', ')})`
}
