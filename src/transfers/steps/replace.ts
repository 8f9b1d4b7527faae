import { type CheckpointState, withoutPass } from '../../checkpoints/checkpoint.js'
import { NO_ROWS, type RowCounts } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { Attempt } from '../attempt.js'
import type { NextPosition } from '../changes/change-source.js'
import { movedTo } from '../progression.js'
import type { Portion } from '../readers/reader.js'
import type { Rebuild, Route, Stream } from '../routes/route.js'
import type { BatchOutcome } from '../run-batches.js'
import { withMartChecks } from './check.js'
import { counted, portionKeys, withTransactionId } from './pass.js'

interface ReplaceOptions {
  readonly name: 'replace' | 'sweep'
  /** Where the next run starts to search for changes; taken before anything is read. */
  readonly start?: () => Promise<NextPosition>
}

/**
 * The whole mart at once: built next to the one that people query, then published in its place. Where the sink keeps
 * what was built, the next attempt continues after its last batch.
 */
export class Replace<Rows> implements Step {
  readonly name: string
  readonly #attempt: Attempt<unknown>
  readonly #start: () => Promise<NextPosition>
  readonly #read: () => Promise<Rebuild<Rows>>
  #next: NextPosition = {}
  #rebuild: Rebuild<Rows> | null = null
  #written: RowCounts = NO_ROWS
  #done = false

  constructor(
    { name, start = async () => ({}) }: ReplaceOptions,
    attempt: Attempt<unknown>,
    route: Route<Rows>,
  ) {
    this.name = name
    this.#start = start
    this.#attempt = attempt
    this.#read = route.rebuild()
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { batches } = this.#attempt
    this.#rebuild ??= await this.#open()
    const rebuild = this.#rebuild
    const { stream } = rebuild
    const portion = (await stream?.reader.next(limit)) ?? null
    if (stream !== null && portion !== null) {
      const build = (id: BatchId) => this.#build(portion, id, { stream, isResumable: rebuild.isResumable })
      return batches.run(this.name, build, { earlier: portion.phases })
    }
    this.#done = true
    return batches.run(this.name, (id) => this.#publish(rebuild, id))
  }

  async #open(): Promise<Rebuild<Rows>> {
    this.#next = await this.#start()
    const rebuild = await this.#read()
    const { pass } = this.#attempt.batches.state.position
    if (rebuild.stream?.progression.unfinished) this.#written = pass?.written ?? NO_ROWS
    return rebuild
  }

  async #build(
    portion: Portion<Rows>,
    id: BatchId,
    { stream, isResumable }: { readonly stream: Stream<Rows>; readonly isResumable: boolean },
  ): Promise<BatchOutcome> {
    const change = counted(await stream.writer.write(portion.rows, id), portion)
    const { inserted, updated, unchanged } = change.rows
    this.#written = {
      ...this.#written,
      inserted: this.#written.inserted + inserted,
      updated: this.#written.updated + updated,
      unchanged: this.#written.unchanged + unchanged,
    }
    const state = isResumable ? await this.#stateAfter(portion, stream) : this.#attempt.batches.state
    return { change, state, ...portionKeys(portion) }
  }

  async #stateAfter(portion: Portion<Rows>, { progression }: Stream<Rows>): Promise<CheckpointState> {
    // Never the last batch: the position is removed when the mart is published.
    const state = await progression.moved({ ...portion, isLast: false })
    const { pass, ...position } = state.position
    if (pass === undefined) return state
    return { ...state, position: { ...position, pass: { ...pass, written: this.#written } } }
  }

  async #publish({ stream, publish }: Rebuild<Rows>, id: BatchId): Promise<BatchOutcome> {
    const published = await publish(id, this.#written)
    // A sweep is one of several steps; the mart is checked at the end of its run.
    const change = this.name === 'replace' ? await withMartChecks(this.#attempt, published) : published
    const state = movedTo(stateAfterReplace(this.#attempt), this.#next)
    return {
      change,
      // Without a stream, this one batch wrote every row.
      state: stream === null ? await withTransactionId(this.#attempt.session, state, true) : state,
      published: true,
      ends: true,
    }
  }
}

/** The mart has exactly the rows that the source had when the attempt began, or later. */
export function stateAfterReplace({ batches, start, fingerprint }: Attempt<unknown>): CheckpointState {
  const state = withoutPass(batches.state)
  if (start === null) return state
  const read = { ...start, fingerprint }
  return { ...state, position: { ...state.position, read, swept: { mart: start.mart, fingerprint } } }
}
