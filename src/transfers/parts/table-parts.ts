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

  constructor(attempt: Attempt<TargetTable>) {
    this.#attempt = attempt
    this.isEmpty = attempt.isEmpty
  }

  pass(replaces: boolean): MartPass {
    if (!replaces) {
      const begin = async () => ({ ticket: null, end: async () => NO_CHANGE })
      return { into: null, waitsForLeases: false, prepare: async () => {}, begin }
    }
    const { session, mart, claim, columns, batches } = this.#attempt
    const refusedSoFar = batches.progress.rows.quarantined
    const gathering = new Gathering({
      session,
      table: mart,
      pipelineId: claim.pipeline.id,
      columns,
      brake: claim.pipeline.deleteBrake,
      writing: writingInto(this.#attempt, { isEmpty: this.isEmpty, refusedSoFar }),
    })
    return {
      into: gathering.table,
      waitsForLeases: false,
      prepare: () => gathering.create(),
      begin: async () => ({ ticket: null, end: () => gathering.publish() }),
    }
  }

  job(cut: Omit<CutParts, 'isEmpty'>): EngineJob | null {
    const { engine } = this.#attempt.claim.pipeline
    return engine === 'local' ? null : engineJob(this.#attempt, { ...cut, isEmpty: this.isEmpty })
  }
}
