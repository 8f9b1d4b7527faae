import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import { databaseError } from '../../postgres/errors.js'
import type { SweepFrom } from '../../sources/postgres/changes.js'
import { type Attempt, changedKeys } from '../attempt.js'
import type { BatchOutcome } from '../batch.js'
import type { Changes, Route } from '../routes/route.js'
import { counted } from './pass.js'

/**
 * Recomputes the rows behind every new row version with the pipeline's own query: rows that it returns are upserted,
 * rows that it no longer returns are deleted. It needs no growing key and finds late commits, application clocks and
 * NULL keys alike; aggregates are correct because whole groups are recomputed.
 */
export class ChangedRows<Rows> implements Step {
  readonly name = 'changed'
  readonly #attempt: Attempt<unknown>
  readonly #route: Route<Rows>
  readonly #versions: { readonly since: SweepFrom; readonly next: SweepFrom }
  #changes: Changes<Rows> | null = null
  #done = false

  constructor(
    attempt: Attempt<unknown>,
    route: Route<Rows>,
    versions: { readonly since: SweepFrom; readonly next: SweepFrom },
  ) {
    this.#attempt = attempt
    this.#route = route
    this.#versions = versions
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { batches } = this.#attempt
    this.#changes ??= await this.#read()
    const { stream, finish } = this.#changes
    const portion = (await stream?.reader.next(limit)) ?? null
    if (stream !== null && portion !== null) {
      const write = async (id: BatchId): Promise<BatchOutcome> => ({
        change: counted(await stream.writer.write(portion.rows, id), portion),
        state: batches.state,
      })
      return batches.run(this.name, write, portion.phases)
    }
    this.#done = true
    return batches.run(this.name, async (id) => {
      const change = await finish(id)
      const position = { ...batches.state.position, xmin: this.#versions.next }
      return { change, state: { ...batches.state, position }, ends: true }
    })
  }

  async #read(): Promise<Changes<Rows>> {
    const keys = await changedKeys(this.#attempt, this.#versions.since)
    return this.#route.changes(keys).catch((error) => {
      throw databaseError(error, 'Reading the changed rows', 'source')
    })
  }
}
