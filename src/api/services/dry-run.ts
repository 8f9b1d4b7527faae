import { VitrinaError } from '../../model/errors.js'
import type { Manager, Pipeline } from '../../model/pipeline.js'
import type { PipelineDraft } from '../../ports/pipeline-editor.js'
import type { CheckpointFate } from './checkpoint-rules.js'
import { toInput, unsaved } from './pipeline-draft.js'

/** How an edit is requested. */
export interface EditManner {
  /** Report the changes without applying them. */
  readonly dryRun?: boolean
  /** Where the edit comes from; absent: the API. */
  readonly from?: Manager
  /** Stop managing the pipeline by its file. */
  readonly takeOver?: boolean
}

/** What an edit would do. */
export interface DryRunResult {
  /** The pipeline after the edit. */
  readonly pipeline: Pipeline
  readonly changes: Readonly<Record<string, { old: unknown; new: unknown }>>
  readonly checkpoint: CheckpointFate
}

/** Rolls back the transaction of a dry run. */
export class DryRunEnd extends Error {
  readonly result: DryRunResult

  constructor(result: DryRunResult) {
    super('This was a dry run.')
    this.result = result
  }
}

/** `current`: null if it would be created. */
export function dryRunResult(
  current: Pipeline | null,
  draft: PipelineDraft,
  checkpoint: CheckpointFate,
): DryRunResult {
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

/** What manages a pipeline after an edit. A pipeline managed by a file is not changed accidentally. */
export function managerAfter(current: Pipeline, { from = 'api', takeOver = false }: EditManner): Manager {
  if (current.managedBy === 'api' || from === 'file' || takeOver) return from
  throw new VitrinaError(
    'PIPELINE_MANAGED',
    `Pipeline "${current.name}" is managed by "vitrina apply"; the next apply would undo this change.`,
    'Change the file and apply it, or send take_over=true to manage the pipeline here from now on.',
  )
}
