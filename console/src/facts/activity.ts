import type { ActiveRun, EndedRun, PipelineLine } from '../api/wire.js'

/** The current activity of a pipeline, the first of three facts. The result of the last run is another. */
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

/** Attempts per run, as defined in src/runner/retry.ts. */
export const ATTEMPTS = 3

/** The result of the last finished run, the second fact. */
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
