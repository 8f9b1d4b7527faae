import type { ReactNode } from 'react'
import type { Run } from '../../api/wire.js'
import { type Activity, ATTEMPTS, lastResultOf } from '../../facts/activity.js'
import { isOver } from '../../facts/run-result.js'
import { LastResultBadge } from './LastResultBadge.js'
import { StatusActivity } from './StatusActivity.js'

interface Props {
  readonly run: Pick<Run, 'status' | 'attempt' | 'cancel_requested'>
  readonly more?: ReactNode
}

/** The activity or the result of a run. */
export function RunStatusBadge({ run, more }: Props) {
  const activity = activityOfRun(run)
  if (activity === null) return <LastResultBadge result={lastResultOf(run)} more={more} />
  const tries = activity === 'retrying' ? `${run.attempt}/${ATTEMPTS}` : null
  return <StatusActivity activity={activity} more={more ?? tries} />
}

/** Null: finished. */
export function activityOfRun({ status, attempt, cancel_requested }: Props['run']): Activity | null {
  if (isOver(status)) return null
  if (cancel_requested) return 'cancelling'
  if (status === 'REQUESTED') return 'queued'
  return attempt > 1 ? 'retrying' : 'running'
}
