import type { Checkpoint, Position } from '../checkpoints/checkpoint.js'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import type { BatchPhases, Phase, Progress } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { addRows, NO_ROWS, type RefusedRow, type RowCounts } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { BatchDone, Ledger } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { targetError } from '../sinks/postgres/target.js'

/** Short enough for a pause to be felt at once, long enough for the cost of a commit to vanish. */
const COMMITTED_MS = 200
/**
 * A sink costs more for each batch: requests are cut at its end, and all wait for the last of them. In one round on a
 * busy machine Elasticsearch took 10,000 documents at a time faster than the 2,000 that fit into a commit's time, and
 * 40,000 no faster than 10,000.
 */
const SENT_MS = 1000

export function batchMs(transactional: boolean): number {
  return transactional ? COMMITTED_MS : SENT_MS
}

/** Where the pipeline stands after a batch. */
export interface StateAfter {
  readonly key: string | null
  readonly id: string | null
  readonly position: Omit<Position, 'run'>
}

/** What a batch did. */
export interface Moved extends StateAfter {
  /** The last batch of its step. */
  readonly ends?: boolean
  readonly rows: RowCounts
  readonly refused?: readonly RefusedRow[]
  readonly firstKey: string | null
  readonly lastKey: string | null
  /** What a sink has to be told when the run's rows are to be seen; kept with the checkpoint until then. */
  readonly marks?: readonly string[]
  /** All marks were told. */
  readonly published?: boolean
  /** The part of the work that was reading, where it can be told from writing. */
  readonly read?: Phase
  /** What else is written down with the batch; in another database than the rows, once they are committed. */
  readonly settle?: (meta: MetaSession | null) => Promise<void>
}

interface Parts {
  readonly session: Session
  readonly checkpoints: CheckpointStore
  readonly ledger: Ledger
  readonly runId: string
  /** The target is the main database: checkpoint, history and lease stand in the very transaction of the rows. */
  readonly isMain: boolean
  /** False: the rows go to a server that cannot commit together with the checkpoint. They are written first. */
  readonly transactional: boolean
  /** Which mart this is, where that can change without a trace; null: it cannot. */
  readonly identity?: string | null
}

/**
 * One batch, one transaction in the target database (DESIGN of it in docs/architecture.md):
 * rows, checkpoint, history, lease, in this order, so that the locks that others wait for are held the shortest.
 */
export class BatchRunner {
  readonly #parts: Parts
  #progress: Progress = { rows: NO_ROWS, batches: 0 }
  #state: StateAfter
  #done: readonly string[] = []

  constructor(parts: Parts, checkpoint: Checkpoint) {
    this.#parts = parts
    const { run, ...position } = checkpoint.position
    this.#state = { key: checkpoint.key, id: checkpoint.id, position }
    if (run?.id !== parts.runId) return
    this.#progress = { rows: run.rows, batches: run.batches }
    this.#done = run.done
  }

  /** Where the last committed batch left the pipeline. */
  get state(): StateAfter {
    return this.#state
  }

  get progress(): Progress {
    return this.#progress
  }

  /** Whether an earlier attempt of this run has brought the step to its end. */
  isDone(step: string): boolean {
    return this.#done.includes(step)
  }

  /** What readers of the mart do not see yet. */
  get unpublished(): readonly string[] {
    return this.#state.position.unpublished ?? []
  }

  /**
   * `work` gets the number of the batch. A batch that failed and is tried again has its number again. `before`: what
   * was done for it already.
   */
  async run(
    step: string,
    work: (batch: number) => Promise<Moved>,
    before: readonly Phase[] = [],
  ): Promise<BatchDone> {
    const { session, checkpoints, ledger, runId, isMain, transactional } = this.#parts
    const began = performance.now()
    const number = this.#progress.batches + 1
    // Nothing is held open in the main database while another server takes its time.
    const written = transactional ? null : await this.#writeFirst(work, number)
    const meta: MetaSession | null = isMain
      ? { query: async (text, values) => ({ rows: await session.rows(text, values) }) }
      : null
    // A deferred constraint would refuse a row at COMMIT, when it can no longer be told which.
    await session.run('BEGIN; SET CONSTRAINTS ALL IMMEDIATE')
    failpoint('batch.begun')
    try {
      const moved = written ?? (await work(number))
      const wrote = performance.now()
      if (isMain) await onSide('meta store', 'Settling rows', async () => moved.settle?.(meta))
      const progress = { rows: addRows(this.#progress.rows, moved.rows), batches: number }
      const done = moved.ends === true ? [...this.#done, step] : this.#done
      const position = this.#positionAfter(moved)
      await onSide(isMain ? 'meta store' : 'target', 'Moving the checkpoint', () =>
        checkpoints.move({
          key: moved.key,
          id: moved.id,
          position: { ...position, run: { id: runId, ...progress, done } },
        }),
      )
      failpoint('checkpoint.moved')
      const phases = (): Phase[] => [
        ...before,
        ...(moved.read === undefined ? [] : [moved.read]),
        { name: 'write', from: moved.read?.to ?? began, to: wrote },
        { name: 'checkpoint', from: wrote, to: performance.now() },
      ]
      const record = {
        batch: progress.batches,
        step,
        rows: moved.rows,
        firstKey: moved.firstKey,
        lastKey: moved.lastKey,
        phases: durationsOf(phases()),
        durationMs: performance.now() - began,
        copiedCheckpoint: isMain ? null : { key: moved.key, id: moved.id },
      }
      const control = await onSide('meta store', 'Recording the batch', async () => {
        if (moved.refused !== undefined && moved.refused.length > 0)
          await ledger.quarantine(moved.refused, meta)
        return ledger.record(record, progress, meta)
      })
      failpoint('lease.renewed')
      await session.run('COMMIT')
      checkpoints.committed()
      this.#progress = progress
      this.#done = done
      this.#state = { key: moved.key, id: moved.id, position }
      failpoint('batch.committed')
      // Settled before, a row of the quarantine would be forgotten when its batch is rolled back.
      if (!isMain) await moved.settle?.(null)
      return { record, progress, control, phases: phases() }
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      throw error instanceof VitrinaError ? error : batchError(error)
    }
  }

  async #writeFirst(work: (batch: number) => Promise<Moved>, number: number): Promise<Moved> {
    const moved = await work(number)
    failpoint('batch.written')
    return moved
  }

  #positionAfter(moved: Moved): StateAfter['position'] {
    const { unpublished: _stale, ...position } = moved.position
    const unpublished = moved.published === true ? [] : [...this.unpublished, ...(moved.marks ?? [])]
    const { identity = null } = this.#parts
    return {
      ...position,
      ...(identity === null ? {} : { mart: identity }),
      ...(unpublished.length === 0 ? {} : { unpublished }),
    }
  }
}

function durationsOf(phases: readonly Phase[]): BatchPhases {
  const ms = (name: Phase['name']) => {
    const phase = phases.find((one) => one.name === name)
    return phase === undefined ? null : phase.to - phase.from
  }
  return {
    readMs: ms('read'),
    transformMs: ms('transform'),
    writeMs: ms('write') ?? 0,
    checkpointMs: ms('checkpoint') ?? 0,
  }
}

/** The position after the last batch of a pass over everything: with the number of its rows, if the pass is known. */
export async function withNumber(
  session: Session,
  position: StateAfter['position'],
  isOnly: boolean,
): Promise<StateAfter['position']> {
  const { read } = position
  return read === undefined
    ? position
    : { ...position, read: { ...read, wrote: { number: await numberOfRows(session), isOnly } } }
}

/**
 * The number of what was just written in this transaction, as the system columns tell it. It is not that of the
 * transaction: rows behind a savepoint have one of their own, so a row is written there to see it.
 */
async function numberOfRows(session: Session): Promise<string> {
  await session.run('CREATE TEMP TABLE vitrina_number ON COMMIT DROP AS SELECT')
  const [row] = await session.rows('SELECT xmin::text AS number FROM pg_temp.vitrina_number')
  return row!.number!
}

/** What the server said while a batch was written, in our words. */
export function batchError(error: unknown): VitrinaError {
  return targetError(error, 'Writing a batch')
}
