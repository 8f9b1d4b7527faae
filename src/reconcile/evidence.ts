import { type Checkpoint, type Moment, type PassStart, passFingerprint } from '../checkpoints/checkpoint.js'
import { readCheckpoint } from '../checkpoints/checkpoint-store.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Session } from '../postgres/session.js'
import { committedBy, isComparable, momentOf } from '../sources/postgres/changes.js'
import { isSpread, type PlanFacts, planFacts } from '../sources/postgres/describe.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { type Activity, activityOf } from './activity.js'
import { DriftClassifier } from './drift-classifier.js'
import { readProgressOf } from './read-progress.js'
import { NO_ROW_WRITERS, type RowWriters, VersionWriters } from './row-writers.js'
import type { ComparedColumn } from './side.js'
import { SourceChanges } from './source-changes.js'

interface EvidenceParts {
  readonly source: Session
  readonly target: Session
  /** Of the main database. */
  readonly main: Session
  readonly pipeline: Pipeline
  readonly query: string
  readonly columns: readonly Column[]
  /** The key of the mart. */
  readonly martKey: readonly string[]
  /** False: the mart does not record which transaction wrote a row. */
  readonly hasRowVersions: boolean
  /** The key as the mart has it. */
  readonly key: readonly ComparedColumn[]
}

/** Collects what the classification of differences depends on. Most comparisons find no difference and never need it. */
export class Evidence {
  readonly #parts: EvidenceParts
  #facts: PlanFacts | null = null
  #writers: RowWriters | null = null

  constructor(parts: EvidenceParts) {
    this.#parts = parts
  }

  /** A classifier for the progress that the pipeline has made by now. */
  async classifier(): Promise<DriftClassifier> {
    const { source, target, main, query, columns, martKey, hasRowVersions, key: compared } = this.#parts
    const activity = await activityOf(main, this.#parts.pipeline.id)
    const pipeline = withStatus(this.#parts.pipeline, activity)
    // The checkpoint next to the rows: the copy in the main database may be slightly ahead of them.
    const checkpoint = await this.#withValidMoments(await readCheckpoint(target, pipeline.id))
    this.#facts ??= await planFacts(source, `SELECT ${columnList(columns)} FROM ${asRelation(query)}`)
    const key = martKey.map((name) => columns.find((column) => column.name === name)!)
    const progress = readProgressOf(
      {
        pipeline,
        columns,
        key,
        fingerprint: passFingerprint(pipeline, query, martKey),
        isSpread: isSpread(this.#facts),
      },
      checkpoint,
    )
    const trace = new SourceChanges({ session: source, key, compared, relations: this.#facts.relations })
    this.#writers ??= hasRowVersions ? await VersionWriters.find(target, pipeline.id) : NO_ROW_WRITERS
    const hasRunSince = async () => {
      const later = await activityOf(main, pipeline.id)
      return later?.fence !== activity?.fence || later?.status !== activity?.status
    }
    return new DriftClassifier({ progress, trace, writers: this.#writers, hasRunSince })
  }

  /** Drops moments that are no longer meaningful: the server was restored, or its transaction counter moved too far. */
  async #withValidMoments({ position, ...rest }: Checkpoint): Promise<Checkpoint> {
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

/** As it is now: the caller may have read it before the last run began. */
function withStatus(pipeline: Pipeline, activity: Activity | null): Pipeline {
  return activity === null ? pipeline : { ...pipeline, status: activity.status as Pipeline['status'] }
}
