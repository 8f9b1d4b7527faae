import type { Claim } from '../../model/claim.js'
import type { AttemptEnd } from '../../model/run.js'
import { type PipelineRow, toPipeline } from '../rows.js'

/** What etl.claim_run returns. */
export interface ClaimedRun {
  readonly pipeline: PipelineRow & { readonly current_run_id: string; readonly fence: number }
  readonly previousStatus: string
  readonly previousOwner: string | null
  readonly waitedMs: number
  readonly attempt: number
  readonly deaths: number
  readonly cancelRequested: boolean
  readonly trigger: string
  readonly traceparent: string | null
  readonly previousEnd: AttemptEnd | null
  /** The group of the pipeline, in order; of itself only the id. Absent: it runs by itself. */
  readonly members?: readonly (ClaimedRun | { readonly pipeline: { readonly id: string } })[]
  /** Queued pipelines with the same tags and connections. */
  readonly lane: { readonly tags: readonly string[]; readonly source: string; readonly target: string }
}

/** The claims of a group name each other. */
export function toClaim(claimed: ClaimedRun): Claim {
  const { members = [] } = claimed
  if (members.length === 0) return { ...claimOf(claimed), group: null }
  const group: Claim[] = []
  for (const member of members) {
    const found = 'lane' in member ? member : claimed
    group.push({ ...claimOf(found), group })
  }
  return group.find(({ pipeline }) => pipeline.id === claimed.pipeline.id)!
}

function claimOf(claimed: ClaimedRun): Omit<Claim, 'group'> {
  const {
    pipeline,
    previousStatus,
    previousOwner,
    cancelRequested,
    previousEnd,
    lane: _lane,
    members: _members,
    ...run
  } = claimed
  const recovered = previousStatus !== 'RUN_REQUESTED'
  return {
    ...run,
    pipeline: toPipeline(pipeline),
    runId: pipeline.current_run_id,
    fence: pipeline.fence,
    recovered,
    previousOwner: recovered ? previousOwner : null,
    previousEnd: recovered ? previousEnd : null,
    // A pipeline that was disabled meanwhile is claimed only to end its run, because no other process would.
    control: {
      pause: pipeline.status === 'PAUSE_REQUESTED',
      cancel: cancelRequested || !pipeline.enabled,
      batchSize: pipeline.batch_size,
    },
  }
}
