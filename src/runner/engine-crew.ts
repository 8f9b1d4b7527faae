import { setTimeout as wait } from 'node:timers/promises'
import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import type { PartPlan } from '../model/part.js'
import type { PartEngine, Submission, SubmissionEnd } from '../ports/part-engine.js'
import type { EngineParts, PartQueue } from '../ports/part-queue.js'
import type { Events } from '../telemetry/events.js'
import type { PartWorker } from './part-worker.js'

/** How often progress is checked. */
const LOOK_EVERY_MS = 250
/** A driver that ended this often without a part committed in between is not started again. */
const MAX_FAILURES = 3

interface CrewParts {
  readonly engine: PartEngine
  readonly parts: PartQueue
  readonly worker: PartWorker
  readonly events: Events
}

/**
 * Lets an engine outside the runners execute the parts of a run. The holder of the run starts the engine, follows the
 * list of parts, restarts the engine if it exits early, and ends it with the run. Parts that the engine hands over are
 * executed here, as without an engine.
 */
export class EngineCrew {
  readonly #parts: CrewParts
  readonly #claim: Claim
  #plan: PartPlan | null = null
  #submission: Submission | null = null
  #failures = 0
  /** Parts that were committed when the driver was started. */
  #doneBefore = 0
  /** Parts that are in the log already. */
  #reported: Set<number> | null = null

  constructor(claim: Claim, parts: CrewParts) {
    this.#claim = claim
    this.#parts = parts
  }

  opened(plan: PartPlan): void {
    this.#plan = plan
    this.#reported = null
  }

  /** Works on a part that was handed over, or waits a moment for the engine. */
  async workFor(signal: AbortSignal): Promise<void> {
    const { worker, parts } = this.#parts
    const states = await parts.engineParts(this.#claim)
    this.#report(states)
    const part = await worker.claim({ runId: this.#claim.runId, free: null })
    if (part !== null) return worker.work(part, signal)
    const end = this.#submission?.end ?? null
    if (end !== null) await this.#ended(end, states)
    if (this.#submission === null && states.open > 0) await this.#start(states)
    await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
  }

  /** Ends the driver. The parts that it was working on become free. */
  async end(): Promise<void> {
    const submission = this.#submission
    if (submission === null) return
    this.#submission = null
    await submission.stop()
    // The next holder does the same if this one has lost the run.
    await this.#parts.parts.freeEngineParts(this.#claim).catch(() => {})
  }

  async #start({ done }: EngineParts): Promise<void> {
    const { engine, events } = this.#parts
    this.#doneBefore = done.length
    this.#submission = await engine.submit(this.#claim)
    events.engineStarted(this.#claim, this.#submission.profile)
  }

  async #ended(end: SubmissionEnd, { open, done }: EngineParts): Promise<void> {
    await this.end()
    if (open === 0) return
    this.#failures = done.length > this.#doneBefore ? 1 : this.#failures + 1
    this.#parts.events.engineEnded(this.#claim, end)
    if (this.#failures >= MAX_FAILURES) throw failedAgain(end)
  }

  #report({ done, handedOver }: EngineParts): void {
    const { events } = this.#parts
    const first = this.#reported === null
    const reported = this.#reported ?? new Set(done.map(({ part }) => part))
    this.#reported = reported
    if (first || this.#plan === null) return
    for (const { part, record } of done)
      if (!reported.has(part)) {
        reported.add(part)
        const range = { lo: null, hi: null }
        events.partDone(
          { ...this.#claim, part, range, partAttempt: 1, plan: this.#plan, refusedSoFar: 0 },
          record,
        )
      }
    for (const { part, reason } of handedOver) events.partHandedOver(this.#claim, part, reason)
  }
}

function failedAgain({ how, report, hint }: SubmissionEnd): VitrinaError {
  return new VitrinaError(
    'ENGINE_FAILED',
    `The Spark driver ${how}, ${MAX_FAILURES} times without completing a part: ${report}`,
    hint ?? 'Check the master and conf of the profile in SPARK_PROFILES, and the logs of the workers.',
  )
}
