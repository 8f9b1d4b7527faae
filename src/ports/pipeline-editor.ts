import type { Author } from '../model/access.js'
import type { PipelineVersion } from '../model/history.js'
import type { RelationRead } from '../model/order.js'
import type { Manager, Pipeline, PipelineSpec, Task } from '../model/pipeline.js'
import type { Page, State } from './catalog.js'

/** A task before the database has assigned an id. */
export type TaskDraft = Omit<Task, 'id'>

/** A complete new configuration. */
export interface PipelineDraft extends PipelineSpec {
  readonly managedBy: Manager
  readonly tasks: readonly TaskDraft[]
}

export interface PipelineEdit {
  readonly draft: PipelineDraft
  /** Resets the checkpoint to the start, in the same transaction. */
  readonly resetCheckpoint: boolean
}

/** Decides about a change while the pipeline is locked. Throws to leave it unchanged. */
export type Decide = (current: Pipeline, hasCheckpoint: boolean) => PipelineEdit

export interface CheckpointValue {
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
}

export interface PipelineChange {
  /** The action recorded in the audit. */
  readonly action: string
  readonly author: Author
  readonly decide: Decide
  /** What it reads now; null: as before. */
  readonly reads: readonly RelationRead[] | null
}

/** Where a pipeline writes, or would write. */
export interface TargetClaim {
  /** The id of the pipeline; null: it is not saved yet. */
  readonly id: string | null
  /** A pipeline with this name is another conflict, and not reported as this one. */
  readonly name: string
  /** Its address, in every possible spelling. */
  readonly addresses: readonly string[]
  readonly connection: string | null
  readonly isShared: boolean
}

/**
 * Configuration changes, for the API only. Each change is one transaction with its version and its entry in the
 * audit.
 */
export interface PipelineEditor {
  /** A pipeline that writes to the same target and blocks this one. Null: the target is free. */
  otherWriter(claim: TargetClaim): Promise<{ readonly id: string; readonly name: string } | null>
  /** Throws PIPELINE_NAME_TAKEN, AFTER_UNKNOWN. */
  create(draft: PipelineDraft, author: Author, reads: readonly RelationRead[]): Promise<Pipeline>
  /** Null: the pipeline does not exist. Throws PIPELINE_NAME_TAKEN, AFTER_UNKNOWN. */
  change(id: string, change: PipelineChange): Promise<Pipeline | null>
  /**
   * Stores what a version of a pipeline reads without changing it. What would close a cycle is not followed. An empty
   * list leaves what was known before.
   */
  learnReads(pipeline: Pick<Pipeline, 'id' | 'configVersion'>, reads: readonly RelationRead[]): Promise<void>
  /** False: the pipeline does not exist. Throws while it is running, and if `check` does. */
  remove(id: string, author: Author, check: (current: Pipeline) => void): Promise<boolean>
  /** Sets the checkpoint; `decide` checks the pipeline first. Null: the pipeline does not exist. */
  reset(id: string, author: Author, decide: (current: Pipeline) => CheckpointValue): Promise<State | null>
  /** Records a request to reload the configuration. Null: the pipeline does not exist. */
  reload(id: string, author: Author): Promise<Pipeline | null>
  listVersions(id: string, page: { limit: number; cursor?: string }): Promise<Page<PipelineVersion>>
  getVersion(id: string, version: number): Promise<PipelineVersion | null>
}
