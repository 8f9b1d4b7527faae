import type { CommittedParts } from '../../checkpoints/part-ledger.js'
import type { EngineJob } from '../../model/engine.js'
import type { BatchId } from '../../ports/sink.js'
import type { MartChange } from '../marts/mart.js'
import type { CutParts } from './engine-job.js'

/** A mart that takes the rows of a pass in parts, from several runners: a table of PostgreSQL, or what is behind a sink. */
export interface PartedMart {
  /** It had no rows when the attempt began. */
  readonly isEmpty: boolean
  /** Called when the step is created, so that rows which an earlier step quarantines do not count twice. */
  pass(replaces: boolean): MartPass
  /** What an engine outside the runners has to know; null: runners execute the parts. */
  job(cut: Omit<CutParts, 'isEmpty'>): EngineJob | null
}

/** A pass over every row, as the holder of the run begins and ends it. */
export interface MartPass {
  /** Where `replace` gathers the rows, as quoted SQL; null: nowhere, or behind a sink. */
  readonly into: string | null
  /** The rows of earlier holders of the run must not be on their way any more when the pass begins. */
  readonly waitsForLeases: boolean
  /** Called before the parts are stored. */
  prepare(): Promise<void>
  /** Called in every attempt, before any part can be claimed. */
  begin(id: BatchId): Promise<BegunPass>
}

export interface BegunPass {
  /** Reaches all who execute parts. */
  readonly ticket: string | null
  /** Called in the batch that ends the step, when every part is committed. */
  end(id: BatchId, committed: CommittedParts): Promise<MartChange>
}
