import { VitrinaError } from '../../model/errors.js'
import type { Manager, Pipeline } from '../../model/pipeline.js'
import type { PipelineDraft } from '../../ports/pipeline-editor.js'
import type { CheckpointFate } from './checkpoint-rules.js'
import { toInput, unsaved } from './pipeline-draft.js'

/** How an edit is meant. */
export interface EditManner {
  /** Tell what would change, and change nothing. */
  readonly dryRun?: boolean
  /** Where the edit comes from; absent: the API. */
  readonly from?: Manager
  /** Take a pipeline out of the hands of its file. */
  readonly takeOver?: boolean
}

/** What an edit would do. */
export interface Rehearsal {
  /** As it would be. */
  readonly pipeline: Pipeline
  readonly changes: Readonly<Record<string, { old: unknown; new: unknown }>>
  readonly checkpoint: CheckpointFate
}

/** Leaves the transaction of an edit that was only a rehearsal. */
export class Rehearsed extends Error {
  readonly rehearsal: Rehearsal

  constructor(rehearsal: Rehearsal) {
    super('This was a rehearsal.')
    this.rehearsal = rehearsal
  }
}

/** `current`: null when it would be created. */
export function rehearse(
  current: Pipeline | null,
  draft: PipelineDraft,
  checkpoint: CheckpointFate,
): Rehearsal {
  const wanted = unsaved(draft)
  const after = toInput(wanted)
  const before = current === null ? null : toInput(current)
  const changed = Object.entries(after).filter(
    ([field, value]) => before === null || JSON.stringify(before[field]) !== JSON.stringify(value),
  )
  const changes = Object.fromEntries(
    changed.map(([field, value]) => [field, { old: before?.[field] ?? null, new: value }]),
  )
  if (current === null) return { pipeline: wanted, changes, checkpoint }
  const { id, status, createdAt, updatedAt } = current
  const configVersion = current.configVersion + (changed.length > 0 ? 1 : 0)
  return { pipeline: { ...wanted, id, status, createdAt, updatedAt, configVersion }, changes, checkpoint }
}

/** Who answers for a pipeline after an edit. What a file answers for is not changed by the way. */
export function managerAfter(current: Pipeline, { from = 'api', takeOver = false }: EditManner): Manager {
  if (current.managedBy === 'api' || from === 'file' || takeOver) return from
  throw new VitrinaError(
    'PIPELINE_MANAGED',
    `Pipeline "${current.name}" comes from a file that "vitrina apply" brought; the next apply would undo this.`,
    'Change the file and apply it, or send take_over=true to change it here from now on.',
  )
}
