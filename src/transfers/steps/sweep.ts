import type { BatchDone, Step } from '../../ports/transfer.js'
import { committedBy } from '../../sources/postgres/changes.js'
import type { Attempt } from '../attempt.js'
import type { Route } from '../routes/route.js'

/** Removes rows that the source no longer has: its keys are read once, and all other rows of the mart are deleted. */
export class Sweep implements Step {
  readonly name = 'sweep'
  readonly #attempt: Attempt<unknown>
  readonly #route: Route<unknown>
  #done = false

  constructor(attempt: Attempt<unknown>, route: Route<unknown>) {
    this.#attempt = attempt
    this.#route = route
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    const { batches, session, start, fingerprint } = this.#attempt
    // Taken before the keys are read: a row that is older and stays was among them.
    const mart = await committedBy(session)
    const swept = mart === null || start === null ? {} : { swept: { mart, fingerprint } }
    const removeAbsent = await this.#route.sweep()
    return batches.run(this.name, async (id) => {
      const change = await removeAbsent(id)
      const position = { ...batches.state.position, ...swept }
      return { change, state: { ...batches.state, position }, ends: true }
    })
  }
}
