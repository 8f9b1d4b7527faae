import type { Author } from '../model/access.js'
import type { PipelineVersion } from '../model/history.js'
import type { Manager, Pipeline, PipelineSpec, Task } from '../model/pipeline.js'
import type { Page, State } from './catalog.js'

/** A task before the database has given it an id. */
export type TaskDraft = Omit<Task, 'id'>

/** A whole configuration, as it shall be. */
export interface PipelineDraft extends PipelineSpec {
  readonly managedBy: Manager
  readonly tasks: readonly TaskDraft[]
}

export interface PipelineEdit {
  readonly draft: PipelineDraft
  /** Sets the checkpoint back to the start, in the same transaction. */
  readonly resetCheckpoint: boolean
}

/** Decides what becomes of a pipeline while nobody else can change it. Throws to leave it as it is. */
export type Decide = (current: Pipeline, hasCheckpoint: boolean) => PipelineEdit

export interface Checkpoint {
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
}

/** Where a pipeline writes, or would write. */
export interface TargetClaim {
  /** The id of the pipeline; null: it is not saved yet. */
  readonly id: string | null
  /** A pipeline of this name is another conflict, and not reported as this one. */
  readonly name: string
  /** Its address, in every way that it could be written. */
  readonly addresses: readonly string[]
  readonly connection: string | null
  readonly isShared: boolean
}

/** Configuration, for the API alone. Each change is one transaction with its version and its line in the audit. */
export interface PipelineEditor {
  /** A pipeline that writes to the same target and keeps this one from doing so. Null: the target is free. */
  otherWriter(claim: TargetClaim): Promise<{ readonly id: string; readonly name: string } | null>
  /** Throws PIPELINE_NAME_TAKEN. */
  create(draft: PipelineDraft, author: Author): Promise<Pipeline>
  /** Null: there is no such pipeline. `action` names the change in the audit. */
  change(id: string, action: string, author: Author, decide: Decide): Promise<Pipeline | null>
  /** False: there is no such pipeline. Throws while it is running, and when `check` does. */
  remove(id: string, author: Author, check: (current: Pipeline) => void): Promise<boolean>
  /** Sets the checkpoint; `decide` looks at the pipeline first. Null: there is no such pipeline. */
  reset(id: string, author: Author, decide: (current: Pipeline) => Checkpoint): Promise<State | null>
  /** Writes down that somebody asked for the configuration to be read again. Null: there is no such pipeline. */
  reload(id: string, author: Author): Promise<Pipeline | null>
  listVersions(id: string, page: { limit: number; cursor?: string }): Promise<Page<PipelineVersion>>
  getVersion(id: string, version: number): Promise<PipelineVersion | null>
}
