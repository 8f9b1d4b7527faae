import type { Capacity, Claim, RunnerInfo } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import type { PartClaim } from '../model/part.js'
import { isLive } from '../model/pipeline.js'
import { freeSlots } from '../model/tag-slots.js'
import type { DueRuns } from '../ports/due-runs.js'
import type { PartQueue } from '../ports/part-queue.js'
import type { RunQueue } from '../ports/run-queue.js'
import type { RunnerRegistry } from '../ports/runner-registry.js'
import type { Wakeups } from '../ports/wakeups.js'
import type { Events } from '../telemetry/events.js'
import type { PipelineDispatcher } from './dispatcher.js'
import type { PartWorker } from './part-worker.js'
import type { Scheduler } from './scheduler.js'

export interface ManagerParts {
  readonly runner: RunnerInfo
  readonly queue: RunQueue
  readonly dueRuns: DueRuns
  readonly registry: RunnerRegistry
  readonly dispatcher: PipelineDispatcher
  readonly parts: PartQueue
  readonly worker: PartWorker
  readonly scheduler: Scheduler
  readonly wakeups: Wakeups
  readonly events: Events
  readonly pollIntervalMs: number
  readonly leaseSeconds: number
  /** How long runs may take to finish their batch when the runner stops. */
  readonly graceMs: number
}

const HEARTBEAT_MS = 5_000
/** Three missed heartbeats: the API also counts the runner as silent then. */
const SILENT_MS = 3 * HEARTBEAT_MS

/** Looks for work and distributes it: one tick claims as many pipelines as there are free slots. */
export class PipelineManager {
  readonly #parts: ManagerParts
  /** Runs that use a slot, with the tags of their pipelines. */
  readonly #running = new Map<Promise<void>, readonly string[]>()
  readonly #live = new Set<Promise<void>>()
  #stopping = false
  #wake: () => void = () => {}
  #early: NodeJS.Timeout | undefined
  #loop: Promise<void> = Promise.resolve()
  #heartbeatAt = Number.NEGATIVE_INFINITY
  /** Separate from the ticks, which may be much further apart. */
  #pulse: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()

  constructor(parts: ManagerParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    await this.#beat()
    this.#parts.events.runnerStarted(this.#parts.runner)
    this.#parts.wakeups.start(() => this.#wake())
    this.#loop = this.#loopUntilStopped()
    this.#pulse = setInterval(() => {
      // The next tick reports an unavailable meta store.
      this.#beating = this.#beat().catch(() => {})
    }, HEARTBEAT_MS)
  }

  /** It reaches the meta store and accepts work. */
  get isReady(): boolean {
    return !this.#stopping && performance.now() - this.#heartbeatAt < SILENT_MS
  }

  /** R3.3 for a runner: the current batches finish, their checkpoints are kept, the runs are handed back. */
  async stop(): Promise<void> {
    const { dispatcher, worker, wakeups, registry, runner, events, graceMs } = this.#parts
    this.#stopping = true
    dispatcher.stop()
    this.#wake()
    const grace = setTimeout(() => {
      dispatcher.cut()
      worker.cut()
    }, graceMs)
    await this.#loop
    await Promise.all([...this.#running.keys(), ...this.#live])
    clearTimeout(grace)
    clearInterval(this.#pulse)
    await this.#beating
    await wakeups.stop()
    await registry.gone(runner.id).catch(() => {})
    events.runnerStopped(runner)
  }

  async #loopUntilStopped(): Promise<void> {
    while (!this.#stopping) {
      // Armed before the tick: a wake-up during the tick must not be lost.
      const nap = this.#nap()
      try {
        await this.#tick()
      } catch (error) {
        if (error instanceof VitrinaError && error.class === 'lost')
          this.#parts.events.connectionLost('the meta store', error)
        else this.#parts.events.tickFailed(error as Error)
      }
      await nap
      clearTimeout(this.#early)
    }
  }

  async #tick(): Promise<void> {
    const { queue, parts, runner, scheduler, leaseSeconds, events } = this.#parts
    await this.#beat()
    // Before the schedules: an upstream that is always due again must not keep its followers waiting.
    await this.#follow()
    const againMs = await scheduler.tick()
    if (againMs !== null) this.#early = setTimeout(() => this.#wake(), againMs)
    // A runner that froze in a part may hold the lock on its run, which the next claim would wait for.
    await parts.endFrozenParts()
    let recovered = 0
    while (!this.#stopping && this.#running.size < runner.concurrency) {
      const claim = await queue.claim(runner.id, leaseSeconds, this.#capacity())
      if (claim === null) break
      // A run that was handed back normally is not a recovery.
      if (claim.previousEnd === 'runner_died') recovered += 1
      this.#start(claim)
    }
    if (recovered > 0) events.recovered(recovered)
    await this.#takeParts()
  }

  /** Requests the runs of pipelines whose upstreams have changed rows. */
  async #follow(): Promise<void> {
    failpoint('order.deciding')
    const requested = await this.#parts.dueRuns.requestDue()
    failpoint('order.requested')
    if (requested.length > 0) this.#parts.events.followersRequested(requested)
  }

  /** Slots that no run needs work on parts of runs, also of those that other runners hold. */
  async #takeParts(): Promise<void> {
    const { worker, runner } = this.#parts
    while (!this.#stopping && this.#running.size < runner.concurrency) {
      const part = await worker.claim({ runId: null, free: this.#capacity().free })
      if (part === null) return
      this.#startPart(part)
    }
  }

  #startPart(part: PartClaim): void {
    const { worker, events } = this.#parts
    const work: Promise<void> = worker
      .work(part)
      .catch((error: VitrinaError) => {
        if (error.class !== 'release') events.connectionLost(part.pipeline.name, error)
      })
      .finally(() => {
        this.#running.delete(work)
        this.#wake()
      })
    this.#running.set(work, part.pipeline.tags)
  }

  /** A live run mostly waits, so that it takes no slot from others. */
  #start(claim: Claim): void {
    const run: Promise<void> = this.#parts.dispatcher.dispatch(claim).finally(() => {
      this.#running.delete(run)
      this.#live.delete(run)
      this.#wake()
    })
    if (isLive(claim.pipeline)) this.#live.add(run)
    else this.#running.set(run, claim.pipeline.tags)
  }

  #capacity(): Capacity {
    const { tags, connectionLimits } = this.#parts.runner
    return { free: tags === null ? null : freeSlots(tags, this.#running.values()), limits: connectionLimits }
  }

  async #beat(): Promise<void> {
    if (performance.now() - this.#heartbeatAt < HEARTBEAT_MS) return
    await this.#parts.registry.heartbeat(this.#parts.runner)
    this.#heartbeatAt = performance.now()
    this.#parts.events.heartbeat()
    await this.#reportStalled()
  }

  /** A runner that takes everything knows without asking that no run is left out. */
  async #reportStalled(): Promise<void> {
    const { runner, registry, events } = this.#parts
    if (runner.tags === null) return
    for (const run of await registry.markStalled()) events.runStalled(run)
  }

  #nap(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#parts.pollIntervalMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
