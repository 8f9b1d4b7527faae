export const PIPELINE_STATUSES = [
  'IDLE',
  'RUN_REQUESTED',
  'RUNNING',
  'PAUSE_REQUESTED',
  'PAUSED',
  'FAILED',
] as const
export type PipelineStatus = (typeof PIPELINE_STATUSES)[number]

export const RUN_STATUSES = ['REQUESTED', 'RUNNING', 'SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** Runs that have not ended. */
export const ACTIVE_RUN_STATUSES = ['REQUESTED', 'RUNNING'] as const satisfies readonly RunStatus[]

export function isOver(status: RunStatus): boolean {
  return !(ACTIVE_RUN_STATUSES as readonly RunStatus[]).includes(status)
}

interface Transition {
  readonly by: 'api' | 'runner'
  readonly from: readonly PipelineStatus[]
  readonly to: PipelineStatus
}

/**
 * Who may move a pipeline, from where, and to where. The function etl.is_transition holds the same pairs, so that
 * the database rejects every other move by any session; a test compares the two.
 *
 *            requestRun             claim            finish
 *   IDLE ───────────────► RUN_REQUESTED ──► RUNNING ───────► IDLE
 *   PAUSED ─────────────►                   │  │ fail
 *   FAILED ─────────────►      requestPause │  └───────────► FAILED
 *                                           ▼      pause
 *                              PAUSE_REQUESTED ────────────► PAUSED
 *
 * A run that ends or fails while a pause is requested leaves its pipeline PAUSED: a requested
 * pause takes effect, and the run itself records how it ended.
 */
export const TRANSITIONS = {
  requestRun: { by: 'api', from: ['IDLE', 'PAUSED', 'FAILED'], to: 'RUN_REQUESTED' },
  claim: { by: 'runner', from: ['RUN_REQUESTED'], to: 'RUNNING' },
  requestPause: { by: 'api', from: ['RUNNING'], to: 'PAUSE_REQUESTED' },
  pause: { by: 'runner', from: ['PAUSE_REQUESTED'], to: 'PAUSED' },
  finish: { by: 'runner', from: ['RUNNING'], to: 'IDLE' },
  fail: { by: 'runner', from: ['RUNNING'], to: 'FAILED' },
} as const satisfies Record<string, Transition>

type Move = keyof typeof TRANSITIONS

/** Pipelines for which a run can be requested. */
export const STARTABLE_STATUSES: readonly PipelineStatus[] = TRANSITIONS.requestRun.from

/** Pipelines that a runner holds: a claim leads to these statuses, and only the runner that holds it leaves them. */
export const HELD_STATUSES: readonly PipelineStatus[] = PIPELINE_STATUSES.filter((status) =>
  (Object.keys(TRANSITIONS) as Move[]).some(
    (move) =>
      move !== 'claim' &&
      TRANSITIONS[move].by === 'runner' &&
      (TRANSITIONS[move].from as readonly PipelineStatus[]).includes(status),
  ),
)

export function isStartable(status: PipelineStatus): boolean {
  return STARTABLE_STATUSES.includes(status)
}

export function isHeld(status: PipelineStatus): boolean {
  return HELD_STATUSES.includes(status)
}

/** A pause is requested or reached. */
export function isPausing(status: PipelineStatus): boolean {
  const { from, to } = TRANSITIONS.pause
  return status === to || (from as readonly PipelineStatus[]).includes(status)
}

export function isTransition(from: PipelineStatus, to: PipelineStatus): boolean {
  return Object.values(TRANSITIONS).some(
    (move) => (move.from as readonly string[]).includes(from) && move.to === to,
  )
}
