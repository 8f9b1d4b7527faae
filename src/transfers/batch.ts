import type { Checkpoint, Position } from '../checkpoints/checkpoint.js'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import { CheckFailure } from '../checks/index.js'
import type { BatchPhases, BatchRecord, Claim, Control, Phase, Progress } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { addRows, NO_ROWS, type RowCounts } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { BatchId } from '../ports/sink.js'
import type { BatchDone, Ledger } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
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

/** Where the pipeline is after a batch. */
export interface CheckpointState {
  readonly key: string | null
  readonly id: string | null
  readonly position: Omit<Position, 'run'>
}

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
  /** Recorded together with those just before it, so that a run with thousands of small batches stays readable. */
  readonly joins?: boolean
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

interface Parts {
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
  /** The session is in the transaction of a group: batches are published with it, not one by one. */
  readonly joins: boolean
}

/** A batch that waits for the transaction of its group. */
interface Joined {
  readonly outcome: BatchOutcome
  readonly record: BatchRecord
  readonly progress: Progress
}

/** Where a batch leads to. */
interface Next {
  /** The record that it is added to; null: it has its own. */
  readonly joined: Recorded | null
  readonly progress: Progress
  readonly done: readonly string[]
  readonly state: CheckpointState
}

/** Requests are looked up when the leases of a group are renewed. */
const NO_REQUESTS: Control = { pause: false, cancel: false, batchSize: null }

/** The last batch in the history of the run. */
interface Recorded {
  readonly step: string
  readonly rows: RowCounts
  /** When it began, by performance.now(). */
  readonly since: number
}

/** How long small batches are recorded as one. */
const JOINED_MS = 1_000

/** When a batch did what, by performance.now(). */
export interface Timing {
  readonly started: number
  readonly written: number
  readonly earlier: readonly Phase[]
}

/**
 * One batch is one transaction (docs/architecture.md, "The batch protocol"): rows, checkpoint, history, lease, in this
 * order, so that the locks that other sessions wait for are held the shortest.
 */
export class BatchRunner {
  readonly #parts: Parts
  #progress: Progress = { rows: NO_ROWS, batches: 0 }
  #state: CheckpointState
  #done: readonly string[] = []
  #last: Recorded | null = null
  #joined: Joined[] = []
  /** What was read for the next batch before it begins. */
  #read: Phase[] = []
  readonly #whenPublished: (() => Promise<void>)[] = []

  constructor(parts: Parts, checkpoint: Checkpoint) {
    this.#parts = parts
    const { run, ...position } = checkpoint.position
    this.#state = { key: checkpoint.key, id: checkpoint.id, position }
    // What was committed by itself was read in another snapshot than the rest of the group.
    if (parts.joins) this.#state = withoutPass(this.#state)
    if (run?.id !== parts.claim.runId) return
    this.#progress = { rows: run.rows, batches: run.batches }
    if (!parts.joins || run.together === true) this.#done = run.done
  }

  /** Its batches are published in the transaction of a group. */
  get joins(): boolean {
    return this.#parts.joins
  }

  /** Where the last committed batch left the pipeline. */
  get state(): CheckpointState {
    return this.#state
  }

  get progress(): Progress {
    return this.#progress
  }

  /** How long a batch should take if the pipeline sets no size. */
  get targetMs(): number {
    return this.#parts.isTransactional ? COMMIT_MS : SEND_MS
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

  async run(
    step: string,
    work: BatchWork,
    { earlier: ahead = [], follows }: BatchOptions = {},
  ): Promise<BatchDone> {
    const { session, isTransactional, joins } = this.#parts
    const earlier = [...this.#read.splice(0), ...ahead]
    if (joins) return this.#join(step, work, earlier)
    const started = performance.now()
    const id = this.#nextId()
    // No transaction stays open in the main database while another server works.
    const sent = isTransactional ? null : await this.#send(work, id)
    // A deferred constraint would reject a row only at COMMIT, when it is too late to find out which.
    await session.run(`${follows ?? ''}BEGIN; SET CONSTRAINTS ALL IMMEDIATE`)
    failpoint('batch.begun')
    try {
      const outcome = sent ?? (await work(id))
      return await this.#commit(step, outcome, { started, written: performance.now(), earlier })
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      await this.#recordFailure(error, id)
      throw error instanceof VitrinaError ? error : batchError(error)
    }
  }

  /** The rows are written now, and all else when the group is published. */
  async #join(step: string, work: BatchWork, earlier: readonly Phase[]): Promise<BatchDone> {
    const { session } = this.#parts
    const started = performance.now()
    const id = this.#nextId()
    try {
      await session.run('SAVEPOINT batch')
      const outcome = await work(id)
      // A savepoint that stays costs every later one.
      await session.run('RELEASE batch')
      const timing = { started, written: performance.now(), earlier }
      const next = this.#after(step, outcome)
      const { progress } = next
      const record = this.#recordOf(step, outcome, { next, timing })
      this.#joined.push({ outcome, record, progress })
      this.#accept(next, record, timing)
      return { record, progress, control: NO_REQUESTS, phases: phasesOf(outcome.change, timing) }
    } catch (error) {
      await this.#recordFailure(error, id)
      throw error instanceof VitrinaError ? error : batchError(error)
    }
  }

  /** Of a group: moves the checkpoint, which proves the fence; called last in its transaction. */
  async move(): Promise<void> {
    const { checkpoints, claim } = this.#parts
    const { key, id, position } = this.#state
    const run = { id: claim.runId, ...this.#progress, done: this.#done, together: true as const }
    await onSide('target', 'Moving the checkpoint', () =>
      checkpoints.move({ key, id, position: { ...position, run } }),
    )
  }

  /** Of a group: records what its batches did, just before the commit. */
  async record(): Promise<void> {
    const { ledger } = this.#parts
    await onSide('meta store', 'Recording the batch', async () => {
      for (const { outcome, record, progress } of this.#joined) {
        const { refused, checks } = outcome.change
        if (refused.length > 0) await ledger.quarantine(refused, null)
        if (checks !== undefined) await ledger.checked(checks, { batch: record.batch, session: null })
        await ledger.record(record, progress, null)
      }
    })
  }

  /** Of a group: it was committed. */
  async published(): Promise<void> {
    this.#parts.checkpoints.committed()
    const joined = this.#joined
    this.#joined = []
    for (const { outcome } of joined) await outcome.settle?.(null)
    for (const work of this.#whenPublished.splice(0)) await work()
  }

  /** Of a group: called after its commit. */
  whenPublished(work: () => Promise<void>): void {
    this.#whenPublished.push(work)
  }

  /** What failed would be lost with the batch. */
  async #recordFailure(error: unknown, { number }: BatchId): Promise<void> {
    if (!(error instanceof CheckFailure)) return
    failpoint('checks.failed')
    await this.#parts.ledger.checked(error.results, { batch: number, session: null })
    failpoint('checks.recorded')
  }

  async #send(work: BatchWork, id: BatchId): Promise<BatchOutcome> {
    const outcome = await work(id).catch(async (error: unknown) => {
      await this.#recordFailure(error, id)
      throw error
    })
    failpoint('batch.written')
    return outcome
  }

  async #commit(step: string, outcome: BatchOutcome, timing: Timing): Promise<BatchDone> {
    const { session, checkpoints, ledger, claim, isMain } = this.#parts
    const { change } = outcome
    const meta: MetaSession | null = isMain
      ? { query: async (text, values) => ({ rows: await session.rows(text, values) }) }
      : null
    if (isMain) await onSide('meta store', 'Settling rows', async () => outcome.settle?.(meta))
    const next = this.#after(step, outcome)
    const { progress, done, state } = next
    await onSide(isMain ? 'meta store' : 'target', 'Moving the checkpoint', () =>
      checkpoints.move({
        ...state,
        position: { ...state.position, run: { id: claim.runId, ...progress, done } },
      }),
    )
    failpoint('checkpoint.moved')
    const record = this.#recordOf(step, outcome, { next, timing })
    const control = await onSide('meta store', 'Recording the batch', async () => {
      if (change.refused.length > 0) await ledger.quarantine(change.refused, meta)
      if (change.checks !== undefined)
        await ledger.checked(change.checks, { batch: progress.batches, session: meta })
      return ledger.record(record, progress, meta)
    })
    failpoint('lease.renewed')
    await session.run('COMMIT')
    checkpoints.committed()
    this.#accept(next, record, timing)
    failpoint('batch.committed')
    // Settled before the commit, a quarantined row would be forgotten if its batch were rolled back.
    if (!isMain) await outcome.settle?.(null)
    return { record, progress, control, phases: phasesOf(change, timing) }
  }

  #after(step: string, outcome: BatchOutcome): Next {
    const { state, change, parts, ends } = outcome
    const joined = this.#joinedTo(step, outcome)
    const { rows, batches } = parts ?? { rows: NO_ROWS, batches: 0 }
    return {
      joined,
      progress: {
        rows: addRows(addRows(this.#progress.rows, rows), change.rows),
        batches: this.#progress.batches + batches + (joined === null ? 1 : 0),
      },
      done: ends === true ? [...this.#done, step] : this.#done,
      state: { key: state.key, id: state.id, position: this.#positionAfter(outcome) },
    }
  }

  #recordOf(
    step: string,
    { change, state, firstKey = null, lastKey = null }: BatchOutcome,
    { next: { joined, progress }, timing }: { readonly next: Next; readonly timing: Timing },
  ): BatchRecord {
    return {
      batch: progress.batches,
      step,
      rows: joined === null ? change.rows : addRows(joined.rows, change.rows),
      firstKey,
      lastKey,
      phases: durationsOf(phasesOf(change, timing)),
      durationMs: performance.now() - timing.started,
      copiedCheckpoint: this.#parts.isMain ? null : { key: state.key, id: state.id },
    }
  }

  #accept({ joined, progress, done, state }: Next, { step, rows }: BatchRecord, { started }: Timing): void {
    this.#progress = progress
    this.#done = done
    this.#state = state
    this.#last = { step, rows, since: joined?.since ?? started }
  }

  /** What the last record has, if this batch belongs to it. A sink knows batches by their numbers. */
  #joinedTo(step: string, { joins }: BatchOutcome): Recorded | null {
    const last = this.#last
    if (joins !== true || !this.#parts.isTransactional || last?.step !== step) return null
    return performance.now() - last.since < JOINED_MS ? last : null
  }

  #nextId(): BatchId {
    const { pipeline, runId, fence } = this.#parts.claim
    return { pipelineId: pipeline.id, runId, fence, number: this.#progress.batches + 1 }
  }

  #positionAfter({ state, change, published }: BatchOutcome): CheckpointState['position'] {
    const { unpublished: _previous, ...position } = state.position
    const unpublished = published === true ? [] : [...this.unpublished, ...change.marks]
    const { identity } = this.#parts
    return {
      ...position,
      ...(identity === null ? {} : { mart: identity }),
      ...(unpublished.length === 0 ? {} : { unpublished }),
    }
  }
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

/** The state after the last batch of a complete pass, with the transaction id of its rows if its start is known. */
export async function withTransactionId(
  session: Session,
  state: CheckpointState,
  isOnly: boolean,
): Promise<CheckpointState> {
  const { read, ...position } = state.position
  if (read === undefined) return state
  const wrote = { number: await transactionIdOfRows(session), isOnly }
  return { ...state, position: { ...position, read: { ...read, wrote } } }
}

/**
 * The transaction id of the rows just written, as their system column xmin shows it. After a savepoint that is not the
 * id of the transaction, so a row is written to read it from.
 */
async function transactionIdOfRows(session: Session): Promise<string> {
  // A group has several marts in one transaction.
  await session.run(
    'DROP TABLE IF EXISTS pg_temp.vitrina_number; CREATE TEMP TABLE vitrina_number ON COMMIT DROP AS SELECT',
  )
  const [row] = await session.rows('SELECT xmin::text AS number FROM pg_temp.vitrina_number')
  return row!.number!
}

/** An error of PostgreSQL while it wrote a batch. */
export function batchError(error: unknown): VitrinaError {
  return targetError(error, 'Writing a batch')
}

export function withoutPass(state: CheckpointState): CheckpointState {
  const { pass: _pass, ...position } = state.position
  return { ...state, position }
}
