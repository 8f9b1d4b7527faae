import type { BatchId, Parting } from '../../ports/sink.js'
import type { Attempt } from '../attempt.js'
import { deletedRows, NO_CHANGE } from '../marts/mart.js'
import type { BegunPass, MartPass, PartedMart } from './parted-mart.js'

/** A mart behind a sink that takes rows from several runners: the holder of the run begins and ends the pass. */
export class SinkParts implements PartedMart {
  readonly isEmpty = false
  readonly #attempt: Attempt<unknown>
  readonly #parting: Parting

  constructor(attempt: Attempt<unknown>, parting: Parting) {
    this.#attempt = attempt
    this.#parting = parting
  }

  pass(replaces: boolean): MartPass {
    return {
      into: null,
      // The rows for a replacement are gathered under a different name in each attempt.
      waitsForLeases: !replaces && !this.#parting.refusesLate,
      prepare: async () => {},
      begin: (id) => this.#begin(id, replaces),
    }
  }

  async #begin(first: BatchId, replaces: boolean): Promise<BegunPass> {
    const { ledger, chain } = this.#attempt
    const pass = await this.#parting.begin(first, replaces)
    return {
      ticket: pass.ticket,
      end: async (id, { rows, marks }) => {
        const { inserted, updated, unchanged } = rows
        const written = inserted + updated + unchanged
        // Transforms may give rows of different parts the same key, and each part counts its own.
        const rewritten = chain === null ? updated + unchanged : written
        ledger.requireLease()
        const { deleted, marks: own = [] } = await pass.end(id, { rows: written, rewritten, marks })
        if (replaces) return deletedRows(deleted)
        return { ...NO_CHANGE, marks: [...marks, ...own] }
      },
    }
  }

  /** Engines outside the runners write tables only. */
  job(): null {
    return null
  }
}
