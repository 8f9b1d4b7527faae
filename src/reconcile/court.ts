import { type Checkpoint, type Moment, type PassStart, passFingerprint } from '../checkpoints/checkpoint.js'
import { readCheckpoint } from '../checkpoints/checkpoint-store.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Session } from '../postgres/session.js'
import { committedBy, isComparable, momentOf } from '../sources/postgres/changes.js'
import { isSpread, type PlanFacts, planFacts } from '../sources/postgres/describe.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { arrivalOf } from './arrival.js'
import { Judge } from './judge.js'
import type { ComparedColumn } from './side.js'
import { Trace } from './trace.js'
import { type Hearing, MUTE, Witness } from './witness.js'

interface CourtParts {
  readonly source: Session
  readonly target: Session
  readonly pipeline: Pipeline
  readonly query: string
  readonly columns: readonly Column[]
  /** The key of the mart. */
  readonly martKey: readonly string[]
  /** False: the mart cannot tell who wrote a row. */
  readonly martTells: boolean
  /** The key as the mart has it. */
  readonly key: readonly ComparedColumn[]
}

/** Gathers what a judge has to know. Most comparisons find nothing, and then nobody has to ask. */
export class Court {
  readonly #parts: CourtParts
  #facts: PlanFacts | null = null
  #witness: Hearing | null = null

  constructor(parts: CourtParts) {
    this.#parts = parts
  }

  async sit(): Promise<Judge> {
    const { source, target, pipeline, query, columns, martKey, martTells, key: compared } = this.#parts
    // The checkpoint beside the rows: the copy in the main database may be a moment ahead of them.
    const checkpoint = await this.#stillTrue(await readCheckpoint(target, pipeline.id))
    this.#facts ??= await planFacts(source, `SELECT ${columnList(columns)} FROM ${asRelation(query)}`)
    const key = martKey.map((name) => columns.find((column) => column.name === name)!)
    const arrival = arrivalOf(
      {
        pipeline,
        columns,
        key,
        fingerprint: passFingerprint(pipeline, query, martKey),
        isSpread: isSpread(this.#facts),
      },
      checkpoint,
    )
    const trace = new Trace({ session: source, key, compared, relations: this.#facts.relations })
    this.#witness ??= martTells ? await Witness.find(target, pipeline.id) : MUTE
    return new Judge(arrival, trace, this.#witness)
  }

  /** Without moments that mean nothing any more: the server was restored, or has counted on too far. */
  async #stillTrue({ position, ...rest }: Checkpoint): Promise<Checkpoint> {
    // Each as the run took it: the oldest open transaction of the mart's server may be older than what the run saw there.
    const [there, here] = [await momentOf(this.#parts.source), await committedBy(this.#parts.target)]
    const inSource = (moment: Moment | undefined) => isComparable(there, moment ?? null)
    const inMart = (moment: Moment | undefined) => isComparable(here, moment ?? null)
    const holds = (begun: PassStart | undefined) => inSource(begun?.source) && inMart(begun?.mart)
    const { read, pass, swept, xmin, xminNext, ...kept } = position
    const { begun, ...timeless } = pass ?? { name: '', fingerprint: '', after: null }
    return {
      ...rest,
      position: {
        ...kept,
        ...(holds(read) ? { read: read! } : {}),
        ...(pass === undefined ? {} : { pass: holds(begun) ? pass : timeless }),
        ...(inMart(swept?.mart) ? { swept: swept! } : {}),
        ...(inSource(xmin) ? { xmin: xmin! } : {}),
        ...(inSource(xminNext) ? { xminNext: xminNext! } : {}),
      },
    }
  }
}
