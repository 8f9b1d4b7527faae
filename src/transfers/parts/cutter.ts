import type { OpenPart } from '../../model/part.js'
import type { Step } from '../../ports/transfer.js'
import { onSide } from '../../postgres/errors.js'
import { asRelation, type Cursor, cursorColumns, cursorOf, orderBy } from '../../sql/selection.js'
import type { Attempt } from '../attempt.js'
import { NO_WATERMARK, type Progression } from '../progression.js'
import { withMartChecks } from '../steps/check.js'
import { stateAfterReplace } from '../steps/replace.js'
import { requireSupported } from './engine-support.js'
import { cutRanges } from './key-ranges.js'
import { whyOneStream } from './one-stream.js'
import { enginePartCount, freeConnections, type PartCount, partCount } from './part-count.js'
import type { PartedMart } from './parted-mart.js'
import { PartsStep } from './parts-step.js'
import { SharedSnapshot } from './shared-snapshot.js'

/** Cuts passes over every row into parts, where the pipeline wants it and its query allows it. */
export class Cutter {
  readonly #attempt: Attempt<unknown>
  readonly #mart: PartedMart

  private constructor(attempt: Attempt<unknown>, mart: PartedMart) {
    this.#attempt = attempt
    this.#mart = mart
  }

  /** Throws ENGINE_UNSUPPORTED if the engine of the pipeline cannot execute it. */
  static async open(attempt: Attempt<unknown>, mart: PartedMart): Promise<Cutter> {
    const { source, claim, examined, chain } = attempt
    const languages = chain?.segments.map(({ language }) => language) ?? []
    await requireSupported(source, { pipeline: claim.pipeline, examined, languages })
    return new Cutter(attempt, mart)
  }

  /** Null: the pass is one stream. */
  async pass(name: string, progression: Progression): Promise<Step | null> {
    const { batches, claim, ledger, fingerprint } = this.#attempt
    // A stream that was interrupted continues after its last row.
    if (progression.after !== null) return null
    const { pass } = batches.state.position
    const isSame = pass?.name === name && pass.fingerprint === fingerprint
    const from = isSame ? (pass.parts?.run ?? null) : null
    const left = from === null ? [] : await ledger.parts.partsOf(from)
    const count = await this.#count()
    if (left.length === 0 && count.parts === 1) return null
    const snapshot = await this.#snapshot()
    const parts = left.length > 0 ? left : await this.#cut(snapshot, count.parts)
    const job = this.#mart.job({ snapshot, parts, into: null })
    if (parts.length === 1 && job === null) return null
    const last = await this.#lastKey(snapshot)
    const end = { isLast: true, watermark: NO_WATERMARK, queryable: null }
    return new PartsStep(this.#attempt, {
      name,
      parts,
      snapshot,
      width: count.width,
      isEmpty: this.#mart.isEmpty,
      job,
      from: left.length > 0 ? from : null,
      mart: this.#mart.pass(false),
      // From here on the next run finds the parts of this one.
      begun: async () => {
        const state = await progression.moved({ ...end, last: null, isLast: false })
        const { pass: begun } = state.position
        if (begun === undefined) return state
        const position = { ...state.position, pass: { ...begun, parts: { run: claim.runId } } }
        return { ...state, position }
      },
      finish: async (change) => ({ change, state: await progression.moved({ ...end, last }) }),
    })
  }

  /** Null: the rows are gathered in one stream. */
  async replace(): Promise<Step | null> {
    const count = await this.#count()
    if (count.parts === 1) return null
    const snapshot = await this.#snapshot()
    const parts = await this.#cut(snapshot, count.parts)
    if (parts.length === 1 && this.#attempt.claim.pipeline.engine === 'local') return null
    const mart = this.#mart.pass(true)
    const job = this.#mart.job({ snapshot, parts, into: mart.into })
    return new PartsStep(this.#attempt, {
      name: 'replace',
      parts,
      snapshot,
      width: count.width,
      isEmpty: false,
      job,
      from: null,
      mart,
      begun: null,
      finish: async (published) => {
        const change = await withMartChecks(this.#attempt, published)
        return { change, state: stateAfterReplace(this.#attempt), published: true }
      },
    })
  }

  async #count(): Promise<PartCount> {
    const { claim, examined, ledger, source } = this.#attempt
    const { parallelism, engine } = claim.pipeline
    const one = { width: 1, parts: 1 }
    if (parallelism === 1 && engine === 'local') return one
    const cuttable = { pipeline: claim.pipeline, examined, isParted: true }
    const { rows } = examined.facts
    if (engine !== 'local')
      return enginePartCount({ parallelism, rows, freeConnections: await freeConnections(source) })
    if ((await whyOneStream(source, cuttable)) !== null) return one
    if (parallelism !== null) return partCount({ parallelism, rows, freeSlots: 0, freeConnections: 0 })
    const free = await freeConnections(source)
    return partCount({ parallelism, rows, freeSlots: await ledger.parts.freeSlots(), freeConnections: free })
  }

  async #snapshot(): Promise<SharedSnapshot> {
    const { openSource, resources } = this.#attempt
    const session = await onSide('source', 'Connecting to the source', openSource)
    return resources.add(await SharedSnapshot.open(session))
  }

  async #cut({ session }: SharedSnapshot, count: number): Promise<OpenPart[]> {
    const { examined } = this.#attempt
    const ranges = await onSide('source', 'Cutting the source into parts', () =>
      cutRanges(session, examined, count),
    )
    return ranges.map((range) => ({ ...range, isDone: false, marks: [] }))
  }

  async #lastKey({ session }: SharedSnapshot): Promise<Cursor | null> {
    const { order, query } = this.#attempt.examined
    if (!order.columns.every((column) => column.notNull)) return null
    const [row] = await onSide('source', 'Reading the source', () =>
      session.rows(
        `SELECT ${cursorColumns(order)} FROM ${asRelation(query)} ORDER BY ${orderBy(order, 'DESC')} LIMIT 1`,
      ),
    )
    return row === undefined ? null : cursorOf(row, order)
  }
}
