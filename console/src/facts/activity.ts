import type { ActiveRun, EndedRun, PipelineLine } from '../api/wire.js'

/** What a pipeline does now. The first of the three facts; how the last run went is another. */
export type Activity =
  | 'idle'
  | 'queued'
  | 'running'
  | 'retrying'
  | 'pausing'
  | 'paused'
  | 'cancelling'
  | 'disabled'

type Facts = Pick<PipelineLine, 'status' | 'enabled'> & {
  readonly current_run: Pick<ActiveRun, 'attempt' | 'cancel_requested'> | null
}

export function activityOf({ status, enabled, current_run: run }: Facts): Activity {
  if (status === 'RUN_REQUESTED') return 'queued'
  if (status === 'RUNNING' || status === 'PAUSE_REQUESTED') {
    if (run?.cancel_requested) return 'cancelling'
    if (status === 'PAUSE_REQUESTED') return 'pausing'
    return run !== null && run.attempt > 1 ? 'retrying' : 'running'
  }
  if (!enabled) return 'disabled'
  return status === 'PAUSED' ? 'paused' : 'idle'
}

export function isActive(activity: Activity): boolean {
  return !['idle', 'paused', 'disabled'].includes(activity)
}

/** Tries that a run gets; src/runner/retry.ts decides, the console only says. */
export const ATTEMPTS = 3

/** How the last run that ended went. The second fact. */
export type LastResult = 'succeeded' | 'failed' | 'cancelled' | 'paused' | 'never'

const RESULTS: Readonly<Record<EndedRun['status'], LastResult>> = {
  SUCCESS: 'succeeded',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  PAUSED: 'paused',
  REQUESTED: 'never',
  RUNNING: 'never',
}

export function lastResultOf(run: Pick<EndedRun, 'status'> | null): LastResult {
  return run === null ? 'never' : RESULTS[run.status]
}
