import type { ScheduledPipeline } from '../model/claim.js'
import { nextRun } from '../model/schedule.js'
import type { DueByFreshness, DueRuns, TablesOf } from '../ports/due-runs.js'
import type { Events } from '../telemetry/events.js'

/** In one tick; the others wait for the next one. */
const MOST_LEARNED = 100

/** R3.5: requests the runs that are due, by the clock of the database. Of several runners exactly one starts each. */
export class Scheduler {
  readonly #dueRuns: DueRuns
  readonly #events: Events
  readonly #tablesOf: TablesOf
  /** Invalid schedules are reported once, not at every tick. */
  readonly #unreadable = new Map<string, string>()

  constructor(dueRuns: DueRuns, events: Events, tablesOf: TablesOf = async () => []) {
    this.#dueRuns = dueRuns
    this.#events = events
    this.#tablesOf = tablesOf
  }

  /** Returns when the next tick is needed, if that is sooner than usual. */
  async tick(): Promise<number | null> {
    const againMs = await this.#requestByFreshness()
    const { now, pipelines } = await this.#dueRuns.dueSchedules()
    for (const pipeline of pipelines) {
      if (pipeline.schedule === null) {
        await this.#dueRuns.reschedule(pipeline, pipeline.nextRunAt, true)
        continue
      }
      const next = this.#next({ ...pipeline, schedule: pipeline.schedule }, new Date(now))
      if (next === undefined) continue
      // Such as 30 February: it never comes, and there is nothing to log at every tick.
      if (next === null && pipeline.nextRunAt === null) continue
      const start = pipeline.nextRunAt !== null
      if (await this.#dueRuns.reschedule(pipeline, next, start)) this.#events.scheduled(pipeline, next, start)
    }
    return againMs
  }

  /** A pipeline that was inserted with SQL may read marts that come first: what it reads decides when it is due. */
  async #requestByFreshness(): Promise<number | null> {
    const first = await this.#requestKnown([])
    const unknown = first.unknown.slice(0, MOST_LEARNED)
    if (unknown.length === 0) return first.againMs
    await this.#dueRuns.learnReads(unknown, this.#tablesOf)
    return (await this.#requestKnown(unknown)).againMs
  }

  async #requestKnown(learned: readonly string[]): Promise<DueByFreshness> {
    const due = await this.#dueRuns.requestByFreshness(learned)
    for (const name of due.requested) this.#events.dueByFreshness(name)
    return due
  }

  #next(pipeline: ScheduledPipeline & { readonly schedule: string }, now: Date): string | null | undefined {
    try {
      return nextRun(pipeline.schedule, pipeline.timezone, now)?.toISOString() ?? null
    } catch (error) {
      if (this.#unreadable.get(pipeline.id) !== pipeline.schedule) this.#events.tickFailed(error as Error)
      this.#unreadable.set(pipeline.id, pipeline.schedule)
      return undefined
    }
  }
}
