import { rowsWritten } from '../../model/run.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import { NO_CHANGE } from '../marts/mart.js'
import type { Route } from '../routes/route.js'
import type { RunBatches } from '../run-batches.js'

/** Makes what the other steps wrote visible to readers of the mart. */
export class Publish implements Step {
  readonly name = 'publish'
  readonly #batches: RunBatches
  readonly #publish: NonNullable<Route<unknown>['publish']>
  #done = false

  constructor(batches: RunBatches, publish: NonNullable<Route<unknown>['publish']>) {
    this.#batches = batches
    this.#publish = publish
  }

  async next(): Promise<BatchDone | null> {
    const batches = this.#batches
    const { rows } = batches.progress
    const hasChanges = batches.unpublished.length > 0 || rowsWritten(rows) + rows.deleted > 0
    if (this.#done || !hasChanges || batches.isDone('replace')) return null
    this.#done = true
    return batches.run(this.name, async (id) => {
      await this.#publish(batches.unpublished, id)
      return { change: NO_CHANGE, state: batches.state, published: true, ends: true }
    })
  }
}
