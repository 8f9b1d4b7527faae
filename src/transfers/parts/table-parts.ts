import type { EngineJob } from '../../model/engine.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { type Attempt, writingInto } from '../attempt.js'
import { NO_CHANGE } from '../marts/mart.js'
import { type CutParts, engineJob } from './engine-job.js'
import { Gathering } from './gathering.js'
import type { MartPass, PartedMart } from './parted-mart.js'

/** A table of PostgreSQL: each part is one transaction there, so nothing has to be begun or ended. */
export class TableParts implements PartedMart {
  readonly isEmpty: boolean
  readonly #attempt: Attempt<TargetTable>

  constructor(attempt: Attempt<TargetTable>, isEmpty: boolean) {
    this.#attempt = attempt
    this.isEmpty = isEmpty
  }

  pass(replaces: boolean): MartPass {
    const common = { waitsForLeases: false, begin: async () => null }
    if (!replaces) return { ...common, into: null, prepare: async () => {}, end: async () => NO_CHANGE }
    const { session, mart, claim, chain, examined, batches } = this.#attempt
    const refusedSoFar = batches.progress.rows.quarantined
    const gathering = new Gathering({
      session,
      table: mart,
      pipelineId: claim.pipeline.id,
      columns: chain?.columns ?? examined.columns,
      brake: claim.pipeline.deleteBrake,
      writing: writingInto(this.#attempt, { isEmpty: this.isEmpty, refusedSoFar }),
    })
    return {
      ...common,
      into: gathering.table,
      prepare: () => gathering.create(),
      end: () => gathering.publish(),
    }
  }

  job(cut: Omit<CutParts, 'isEmpty'>): EngineJob | null {
    const { engine } = this.#attempt.claim.pipeline
    return engine === 'local' ? null : engineJob(this.#attempt, { ...cut, isEmpty: this.isEmpty })
  }
}
