import { VitrinaError } from '../../model/errors.js'
import { finalTarget, type Pipeline, readerQuery } from '../../model/pipeline.js'
import { fieldsThatChange } from '../../model/pipeline-fields.js'
import { valuesOfSpec } from '../../model/pipeline-spec.js'
import { isHeld } from '../../model/status.js'
import type { PipelineDraft } from '../../ports/pipeline-editor.js'
import { toInput } from './pipeline-draft.js'

/** Fields that a run depends on from its first batch to its last. The database enforces the same for every writer. */
const FIXED_WHILE_RUNNING = [...fieldsThatChange('between runs', 'checkpoint'), 'tasks'] as const

/** R5.2: names the fields and the remedy. */
export function refuseWhileRunning(current: Pipeline, draft: PipelineDraft): void {
  if (!isRunning(current)) return
  const before = toInput(current)
  const after = toInput({ ...current, ...draft, tasks: draft.tasks.map((task) => ({ ...task, id: '' })) })
  const changed = FIXED_WHILE_RUNNING.filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
  if (changed.length > 0) throw busy(current, `${changed.join(', ')} cannot change now`, { fields: changed })
}

export function isRunning({ status }: Pipeline): boolean {
  return isHeld(status)
}

export function busy(pipeline: Pipeline, what: string, facts: Record<string, unknown> = {}): VitrinaError {
  return new VitrinaError(
    'PIPELINE_BUSY',
    `Pipeline "${pipeline.name}" is ${pipeline.status}: ${what}.`,
    `Pause it (POST /api/v1/pipelines/${pipeline.id}/pause) or wait until it is IDLE, then try again.`,
    { facts },
  )
}

/** Query and target are compared as a whole: the task plan may override the fields. */
const OTHER_BASIS = fieldsThatChange('checkpoint').filter(
  (field) => !['source_query', 'source_table', 'source_columns', 'target_table'].includes(field),
)

/** A checkpoint refers to the rows of one query in one order, written to one place. */
function checkpointBasis(pipeline: Pipeline | PipelineDraft): Record<string, unknown> {
  const tasks = pipeline.tasks.map((task) => ({ ...task, id: '' }))
  const values = valuesOfSpec(pipeline)
  return {
    query: readerQuery({ ...pipeline, tasks }),
    target: finalTarget({ ...pipeline, tasks }),
    ...Object.fromEntries(OTHER_BASIS.map((field) => [field, values[field]])),
  }
}

/**
 * The effect of a change on the checkpoint; undecided: it is invalidated, and the request does not say what to do.
 */
export type CheckpointFate = 'none' | 'kept' | 'reset' | 'undecided'

interface ResetRequest {
  readonly hasCheckpoint: boolean
  /** The field reset_checkpoint. */
  readonly resetCheckpoint: boolean | undefined
}

export function checkpointFate(
  current: Pipeline,
  draft: PipelineDraft,
  requested: ResetRequest,
): CheckpointFate {
  if (requested.resetCheckpoint === true) return 'reset'
  if (!requested.hasCheckpoint) return 'none'
  return requested.resetCheckpoint === false || changedBasis(current, draft).length === 0
    ? 'kept'
    : 'undecided'
}

function changedBasis(current: Pipeline, draft: PipelineDraft): string[] {
  const before = checkpointBasis(current)
  const after = checkpointBasis(draft)
  return Object.keys(before).filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
}

/** Whether to reset the checkpoint; throws if the change invalidates it and the request does not say what to do. */
export function decideReset(
  current: Pipeline,
  draft: PipelineDraft,
  { hasCheckpoint, resetCheckpoint }: ResetRequest,
): boolean {
  const changed = changedBasis(current, draft)
  if (resetCheckpoint !== undefined) return resetCheckpoint
  if (!hasCheckpoint || changed.length === 0) return false
  throw new VitrinaError(
    'CHECKPOINT_INVALID',
    `Pipeline "${current.name}" has a checkpoint. Changing ${changed.join(', ')} invalidates it.`,
    'Send "reset_checkpoint": true to read everything again from the start, or false to continue from the current checkpoint.',
    { facts: { fields: changed } },
  )
}
