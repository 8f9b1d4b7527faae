import { NO_ROWS, type RowCounts } from '../../model/run.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { Moved, StateAfter } from '../batch.js'
import { keyText } from '../pass.js'
import type { Progression } from '../progression.js'
import type { MartReplacement } from './mart.js'
import type { Preparation, ReadyBatch, RowsParts } from './pass.js'

/**
 * The whole mart at once: built beside the one that people read, batch by batch, then shown in its place. What is built
 * outlives the attempt where the sink can keep it; then the next attempt goes on after the last batch.
 */
export class RowsReplace implements Step {
  readonly name = 'replace'
  readonly #parts: RowsParts
  readonly #replacement: MartReplacement
  readonly #reading: { readonly progression: Progression; readonly preparation: Preparation }
  #written: RowCounts
  #done = false

  constructor(
    parts: RowsParts,
    replacement: MartReplacement,
    reading: { readonly progression: Progression; readonly preparation: Preparation },
  ) {
    this.#parts = parts
    this.#replacement = replacement
    this.#reading = reading
    this.#written = (reading.progression.unfinished && parts.batches.state.position.pass?.written) || NO_ROWS
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { batches } = this.#parts
    const batch = await this.#reading.preparation.next(limit)
    if (batch !== null) return batches.run(this.name, (number) => this.#build(batch, number))
    this.#done = true
    return batches.run(this.name, (number) => this.#show(number))
  }

  async #build(batch: ReadyBatch, number: number): Promise<Moved> {
    const change = await this.#replacement.write(batch.ready, this.#parts.idOf(number))
    this.#written = {
      ...this.#written,
      inserted: this.#written.inserted + change.rows.inserted,
      updated: this.#written.updated + change.rows.updated,
      unchanged: this.#written.unchanged + change.rows.unchanged,
    }
    return {
      ...(await this.#stateAfter(batch)),
      ...change,
      rows: { ...change.rows, read: batch.rows.count },
      firstKey: keyText(batch.after),
      lastKey: keyText(batch.last),
      spent: batch.spent,
    }
  }

  async #stateAfter(batch: ReadyBatch): Promise<StateAfter> {
    const { batches, source: session } = this.#parts
    if (!this.#replacement.isResumable) return batches.state
    // Never the last one: the place is forgotten only when the mart was shown.
    const state = await this.#reading.progression.moved({ ...batch, session, isLast: false })
    const { pass, ...position } = state.position
    return { ...state, position: { ...position, pass: { ...pass!, written: this.#written } } }
  }

  async #show(number: number): Promise<Moved> {
    const { batches, idOf, read } = this.#parts
    const change = await this.#replacement.publish(idOf(number), this.#written, batches.unpublished)
    const { pass: _pass, ...rest } = batches.state.position
    const swept = read === null ? {} : { read, swept: { mart: read.mart, fingerprint: read.fingerprint } }
    const position = { ...rest, ...swept }
    return {
      ...batches.state,
      ...change,
      position,
      published: true,
      firstKey: null,
      lastKey: null,
      ends: true,
    }
  }
}
