import type { ScheduledPipeline } from '../model/claim.js'
import { nextRun } from '../model/schedule.js'
import type { DueRuns } from '../ports/due-runs.js'
import type { Events } from '../telemetry/events.js'

/** R3.5: requests the runs that are due, by the clock of the database. Of several runners exactly one starts each. */
export class Scheduler {
  readonly #dueRuns: DueRuns
  readonly #events: Events
  /** Invalid schedules are reported once, not at every tick. */
  readonly #unreadable = new Map<string, string>()

  constructor(dueRuns: DueRuns, events: Events) {
    this.#dueRuns = dueRuns
    this.#events = events
  }

  async tick(): Promise<void> {
    for (const name of await this.#dueRuns.requestByFreshness()) this.#events.dueByFreshness(name)
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
