import { type Checkpoint, type CheckpointState, withoutPass } from '../checkpoints/checkpoint.js'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import { CheckFailure } from '../checks/index.js'
import type { BatchPhases, BatchRecord, Claim, Phase, Progress } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { NO_ROWS, type RowCounts, sumRows } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { BatchId } from '../ports/sink.js'
import type { BatchDone, Ledger } from '../ports/transfer.js'
import type { Session } from '../postgres/session.js'
import { targetError } from '../sinks/postgres/target.js'
import type { MartChange } from './marts/mart.js'

/** Long enough for the cost of a commit not to matter, short enough for a pause to take effect at once. */
const COMMIT_MS = 200
/**
 * A sink has higher fixed costs for each batch: its requests are cut at the end of the batch, and all wait for the last
 * of them. In one measurement on a busy machine, Elasticsearch took 10,000 documents at a time faster than the 2,000
 * that fit into 200 ms, and 40,000 no faster than 10,000.
 */
const SEND_MS = 1000
/** How long small batches are recorded as one. */
const RECORD_MS = 1_000

/** What a batch did. */
export interface BatchOutcome {
  readonly change: MartChange
  readonly state: CheckpointState
  readonly firstKey?: string | null
  readonly lastKey?: string | null
  /** This was the last batch of its step. */
  readonly ends?: boolean
  /** The sink has published everything that was written so far. */
  readonly published?: boolean
  /** What was committed before, in transactions of its own; it counts as progress of the run from now on. */
  readonly parts?: Progress
  /** Added to the record of the batches just before it, so that a run with thousands of small batches stays readable. */
  readonly extendsRecord?: boolean
  /** Records in the meta store what the batch has settled; if the rows are in another database, after their commit. */
  readonly settle?: (meta: MetaSession | null) => Promise<void>
}

/** `id` is the same when a failed batch is tried again. */
export type BatchWork = (id: BatchId) => Promise<BatchOutcome>

export interface BatchOptions {
  /** Phases of this batch that are over, such as reading ahead. */
  readonly earlier?: readonly Phase[]
  /** Ends the transaction of the session in which the rows were read, in the same round trip. */
  readonly follows?: 'COMMIT; '
}

export interface BatchParts {
  readonly session: Session
  readonly checkpoints: CheckpointStore
  readonly ledger: Ledger
  readonly claim: Claim
  /** The session is connected to the main database: history and lease are part of the same transaction. */
  readonly isMain: boolean
  /** False: the target cannot commit rows together with the checkpoint, so the rows are written first. */
  readonly isTransactional: boolean
  /** The identity of the mart; null: it cannot be replaced unnoticed. */
  readonly identity: string | null
}

/** Where the run is after a batch. */
export interface AfterBatch {
  /** The record that the batch is added to; null: it has its own. */
  readonly extended: LastRecord | null
  readonly progress: Progress
  readonly done: readonly string[]
  readonly state: CheckpointState
}

/** The last batch in the history of the run. */
interface LastRecord {
  readonly step: string
  readonly rows: RowCounts
  /** When it began, by performance.now(). */
  readonly since: number
}

/**
 * The batches of a run: how many rows they have moved, which steps they have completed, and where the pipeline is after
 * the last one. A subclass decides in which transaction a batch is committed.
 */
export abstract class RunBatches {
  /** They are committed in the transaction of a group, not one by one. */
  readonly inGroup: boolean
  protected readonly parts: BatchParts
  #progress: Progress = { rows: NO_ROWS, batches: 0 }
  #state: CheckpointState
  #done: readonly string[] = []
  #last: LastRecord | null = null
  /** What was read for the next batch before it begins. */
  #read: Phase[] = []

  constructor(parts: BatchParts, checkpoint: Checkpoint, inGroup: boolean) {
    this.parts = parts
    this.inGroup = inGroup
    const { run, ...position } = checkpoint.position
    const state = { key: checkpoint.key, id: checkpoint.id, position }
    // What was committed by itself was read in another snapshot than the rest of the group.
    this.#state = inGroup ? withoutPass(state) : state
    if (run?.id !== parts.claim.runId) return
    this.#progress = { rows: run.rows, batches: run.batches }
    if (!inGroup || run.together === true) this.#done = run.done
  }

  abstract run(step: string, work: BatchWork, options?: BatchOptions): Promise<BatchDone>

  /** Does something as soon as the batches so far are committed. */
  abstract afterCommit(work: () => Promise<void>): Promise<void>

  /** Where the last batch left the pipeline. */
  get state(): CheckpointState {
    return this.#state
  }

  get progress(): Progress {
    return this.#progress
  }

  /** How long a batch should take if the pipeline sets no size. */
  get targetMs(): number {
    return this.parts.isTransactional ? COMMIT_MS : SEND_MS
  }

  /** An earlier attempt of this run has completed the step. */
  isDone(step: string): boolean {
    return this.#done.includes(step)
  }

  /** What readers of the mart do not see yet. */
  get unpublished(): readonly string[] {
    return this.#state.position.unpublished ?? []
  }

  /** Reads rows for the next batch: the time counts as a phase of it. */
  async reading<T>(work: () => Promise<T>): Promise<T> {
    const from = performance.now()
    const result = await work()
    this.#read.push({ name: 'read', from, to: performance.now() })
    return result
  }

  protected takeRead(): Phase[] {
    return this.#read.splice(0)
  }

  protected get done(): readonly string[] {
    return this.#done
  }

  protected nextId(): BatchId {
    const { pipeline, runId, fence } = this.parts.claim
    return { pipelineId: pipeline.id, runId, fence, number: this.#progress.batches + 1 }
  }

  /** Results of checks would be lost with the batch that they ended. */
  protected async recordFailure(error: unknown, { number }: BatchId): Promise<void> {
    if (!(error instanceof CheckFailure)) return
    failpoint('checks.failed')
    await this.parts.ledger.checked(error.results, { batch: number, session: null })
    failpoint('checks.recorded')
  }

  protected after(step: string, outcome: BatchOutcome): AfterBatch {
    const { state, change, parts, ends } = outcome
    const extended = this.#extendedBy(step, outcome)
    const { rows, batches } = parts ?? { rows: NO_ROWS, batches: 0 }
    return {
      extended,
      progress: {
        rows: sumRows(sumRows(this.#progress.rows, rows), change.rows),
        batches: this.#progress.batches + batches + (extended === null ? 1 : 0),
      },
      done: ends === true ? [...this.#done, step] : this.#done,
      state: { key: state.key, id: state.id, position: this.#positionAfter(outcome) },
    }
  }

  protected recordOf(
    step: string,
    { change, state, firstKey = null, lastKey = null }: BatchOutcome,
    {
      next: { extended, progress },
      timing,
    }: { readonly next: Pick<AfterBatch, 'extended' | 'progress'>; readonly timing: Timing },
  ): BatchRecord {
    return {
      batch: progress.batches,
      step,
      rows: extended === null ? change.rows : sumRows(extended.rows, change.rows),
      firstKey,
      lastKey,
      phases: durationsOf(phasesOf(change, timing)),
      durationMs: performance.now() - timing.started,
      copiedCheckpoint: this.parts.isMain ? null : { key: state.key, id: state.id },
    }
  }

  /** From here on the run is after this batch. */
  protected accept(
    { extended, progress, done, state }: AfterBatch,
    { step, rows }: BatchRecord,
    { started }: Timing,
  ): void {
    this.#progress = progress
    this.#done = done
    this.#state = state
    this.#last = { step, rows, since: extended?.since ?? started }
  }

  /** The last record, if the batch is added to it. A sink knows batches by their numbers. */
  #extendedBy(step: string, { extendsRecord }: BatchOutcome): LastRecord | null {
    const last = this.#last
    if (extendsRecord !== true || !this.parts.isTransactional || last?.step !== step) return null
    return performance.now() - last.since < RECORD_MS ? last : null
  }

  #positionAfter({ state, change, published }: BatchOutcome): CheckpointState['position'] {
    const { unpublished: _previous, ...position } = state.position
    const unpublished = published === true ? [] : [...this.unpublished, ...change.marks]
    const { identity } = this.parts
    return {
      ...position,
      ...(identity === null ? {} : { mart: identity }),
      ...(unpublished.length === 0 ? {} : { unpublished }),
    }
  }
}

/** The session of a batch that is committed in the main database. */
export function metaSession(session: Session): MetaSession {
  return { query: async (text, values) => ({ rows: await session.rows(text, values) }) }
}

/** An error of PostgreSQL while it wrote a batch. */
export function batchError(error: unknown): VitrinaError {
  return error instanceof VitrinaError ? error : targetError(error, 'Writing a batch')
}

/** When a batch did what, by performance.now(). */
export interface Timing {
  readonly started: number
  readonly written: number
  readonly earlier: readonly Phase[]
}

/** The checkpoint phase lasts until now. */
export function phasesOf({ read }: MartChange, { started, written, earlier }: Timing): Phase[] {
  return [
    ...earlier,
    ...(read === undefined ? [] : [read]),
    { name: 'write', from: read?.to ?? started, to: written },
    { name: 'checkpoint', from: written, to: performance.now() },
  ]
}

export function durationsOf(phases: readonly Phase[]): BatchPhases {
  const ms = (name: Phase['name']) => {
    const found = phases.filter((one) => one.name === name)
    return found.length === 0 ? null : found.reduce((sum, { from, to }) => sum + to - from, 0)
  }
  return {
    readMs: ms('read'),
    transformMs: ms('transform'),
    writeMs: ms('write') ?? 0,
    checkpointMs: ms('checkpoint') ?? 0,
  }
}
