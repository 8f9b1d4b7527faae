import type { CheckpointState } from '../../checkpoints/checkpoint.js'
import { PartLedger } from '../../checkpoints/part-ledger.js'
import { SESSION_PREFIX } from '../../model/claim.js'
import type { EngineJob } from '../../model/engine.js'
import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import { failpoint } from '../../model/failpoints.js'
import type { OpenPart } from '../../model/part.js'
import { type BatchDone, OPEN_PARTS, type OpenParts, type Step } from '../../ports/transfer.js'
import { onSide } from '../../postgres/errors.js'
import type { Attempt } from '../attempt.js'
import { type MartChange, NO_CHANGE } from '../marts/mart.js'
import type { BatchOutcome } from '../run-batches.js'
import { rangeOrder } from './key-ranges.js'
import type { BegunPass, MartPass } from './parted-mart.js'
import type { SharedSnapshot } from './shared-snapshot.js'

interface PartsOptions {
  readonly name: string
  readonly parts: readonly OpenPart[]
  readonly snapshot: SharedSnapshot
  readonly width: number
  readonly isEmpty: boolean
  readonly mart: MartPass
  /** Null: runners execute the parts. */
  readonly job: EngineJob | null
  /** The run whose parts are continued; null: none is. */
  readonly from: string | null
  /** The checkpoint to store before any part can be claimed; null: none, because the next attempt starts from scratch. */
  readonly begun: (() => Promise<CheckpointState>) | null
  /** Called in the batch that ends the step, with what ending the parts did to the mart. */
  readonly finish: (change: MartChange) => Promise<BatchOutcome>
}

/**
 * A pass that is cut into parts. The holder of the run plans them, works on them like any other runner, and alone calls
 * `finish`, which checks that every part is committed and moves the checkpoint under the fence of the run.
 */
export class PartsStep implements Step {
  readonly name: string
  readonly #attempt: Attempt<unknown>
  readonly #options: PartsOptions
  readonly #ledger: PartLedger
  #isStored = false
  /** Null: no part can be claimed yet. */
  #pass: BegunPass | null = null
  #isDone = false

  constructor(attempt: Attempt<unknown>, options: PartsOptions) {
    this.name = options.name
    this.#attempt = attempt
    this.#options = options
    const { claim, session, isMain } = attempt
    const { pipeline, runId, fence } = claim
    this.#ledger = new PartLedger(session, { pipelineId: pipeline.id, runId, fence, isMain })
  }

  async next(): Promise<BatchDone | OpenParts | null> {
    if (this.#isDone) return null
    if (!this.#isStored) {
      const begun = await this.#store()
      this.#isStored = true
      if (begun !== null) return begun
    }
    if (this.#pass === null) {
      const { mart } = this.#options
      if (mart.waitsForLeases && (await this.#attempt.ledger.parts.hasEarlierClaims())) return OPEN_PARTS
      this.#pass = await this.#open()
    }
    return this.#wait(this.#pass)
  }

  /** Stores the parts, and with them where the next run finds them. */
  async #store(): Promise<BatchDone | null> {
    const { ledger, claim, batches } = this.#attempt
    const { from, parts, mart, begun } = this.#options
    if (from === claim.runId) return null
    await this.#endEarlierParts()
    await onSide('target', 'Preparing the list of parts', () => this.#ledger.prepare(from))
    await mart.prepare()
    await ledger.parts.store(parts)
    if (begun === null) return null
    return batches.run(this.name, async () => ({ change: NO_CHANGE, state: await begun() }))
  }

  /** Runners may still work on the parts of an earlier attempt of this run, and hold locks. */
  async #endEarlierParts(): Promise<void> {
    const { claim, session } = this.#attempt
    await session.rows(
      `SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
        WHERE starts_with(application_name, $1) AND usename = current_user`,
      [`${SESSION_PREFIX}${claim.pipeline.id}/${claim.fence}/`],
    )
  }

  async #open(): Promise<BegunPass> {
    const { ledger, fingerprint, batches, examined, claim } = this.#attempt
    const { width, isEmpty, mart, snapshot, parts, from, job } = this.#options
    const { batches: batchBefore } = batches.progress
    const { pipeline, runId, fence } = claim
    const pass = await mart.begin({ pipelineId: pipeline.id, runId, fence, number: batchBefore })
    await ledger.parts.open({
      step: this.name,
      fingerprint,
      snapshot: snapshot.id,
      width,
      isEmpty,
      into: mart.into,
      ticket: pass.ticket,
      job,
      columns: rangeOrder(examined).columns.map((column) => column.name),
      batchBefore,
    })
    if (from !== null) ledger.parts.continued(parts.filter(({ isDone }) => isDone).length, parts.length)
    return pass
  }

  async #wait(pass: BegunPass): Promise<BatchDone | OpenParts> {
    const { open, failed } = await this.#attempt.ledger.parts.states()
    if (failed !== null) throw new VitrinaError(codeOf(failed.code), failed.message, failed.hint)
    if (open === 0) return this.#finish(pass)
    await onSide('source', 'Keeping the snapshot of the run', () => this.#options.snapshot.require())
    return OPEN_PARTS
  }

  async #finish(pass: BegunPass): Promise<BatchDone> {
    const { batches } = this.#attempt
    await this.#options.snapshot.close()
    // A process of an engine that froze before its part was executed again holds locks that this would wait for.
    if (this.#options.job !== null) await this.#endEarlierParts()
    failpoint('parts.finishing')
    const done = await batches.run(this.name, async (id) => {
      const committed = await this.#ledger.committed()
      requireAll(committed.count, this.#options.parts.length)
      const outcome = await this.#options.finish(await pass.end(id, committed))
      return {
        ...outcome,
        ends: true,
        parts: { rows: committed.rows, batches: committed.count },
        settle: async () => {
          if (committed.marks.length > 0) await this.#ledger.forgetMarks()
        },
      }
    })
    this.#isDone = true
    return done
  }
}

/** The main database knows of each of them, so that this would be a mistake of the program. */
function requireAll(committed: number, total: number): void {
  if (committed === total) return
  throw new VitrinaError(
    'INTERNAL',
    `Only ${committed} of ${total} parts are committed in the database of the mart.`,
    'Run the pipeline again. Check whether the database of the mart was restored from a backup.',
  )
}

function codeOf(text: string): ErrorCode {
  return Object.hasOwn(ERRORS, text) ? (text as ErrorCode) : 'INTERNAL'
}
