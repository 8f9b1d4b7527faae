import type { Progress } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { addRows, NO_ROWS, type RefusedRow, type RowCounts } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { BatchDone, Ledger } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import type { Checkpoint, CheckpointStore, Position } from '../sinks/postgres/checkpoint.js'
import { targetError } from '../sinks/postgres/target.js'

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
}

interface Parts {
  readonly session: Session
  readonly checkpoints: CheckpointStore
  readonly ledger: Ledger
  readonly runId: string
  /** The target is the main database: checkpoint, history and lease stand in the very transaction of the rows. */
  readonly isMain: boolean
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

  /** `work` gets the session for the meta store when that stands in this very transaction. */
  async run(step: string, work: (meta: MetaSession | null) => Promise<Moved>): Promise<BatchDone> {
    const { session, checkpoints, ledger, runId, isMain } = this.#parts
    const began = performance.now()
    const meta: MetaSession | null = isMain
      ? { query: async (text, values) => ({ rows: await session.rows(text, values) }) }
      : null
    // A deferred constraint would refuse a row at COMMIT, when it can no longer be told which.
    await session.run('BEGIN; SET CONSTRAINTS ALL IMMEDIATE')
    failpoint('batch.begun')
    try {
      const moved = await work(meta)
      const progress = { rows: addRows(this.#progress.rows, moved.rows), batches: this.#progress.batches + 1 }
      const done = moved.ends === true ? [...this.#done, step] : this.#done
      await checkpoints.move({
        key: moved.key,
        id: moved.id,
        position: { ...moved.position, run: { id: runId, ...progress, done } },
      })
      failpoint('checkpoint.moved')
      const record = {
        batch: progress.batches,
        step,
        rows: moved.rows,
        firstKey: moved.firstKey,
        lastKey: moved.lastKey,
        durationMs: performance.now() - began,
        copiedCheckpoint: isMain ? null : { key: moved.key, id: moved.id },
      }
      if (moved.refused !== undefined && moved.refused.length > 0)
        await ledger.quarantine(moved.refused, meta)
      const control = await ledger.record(record, progress, meta)
      failpoint('lease.renewed')
      await session.run('COMMIT')
      checkpoints.committed()
      this.#progress = progress
      this.#done = done
      this.#state = { key: moved.key, id: moved.id, position: moved.position }
      failpoint('batch.committed')
      return { record, progress, control }
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      throw error instanceof VitrinaError ? error : batchError(error)
    }
  }
}

/** What the server said while a batch was written, in our words. */
export function batchError(error: unknown): VitrinaError {
  const known = databaseError(error, 'Writing a batch')
  return known.code === 'SOURCE_QUERY_FAILED' ? targetError(error, 'Writing a batch') : known
}
