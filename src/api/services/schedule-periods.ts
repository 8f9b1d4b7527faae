import { schedulePeriodMs } from '../../model/schedule.js'

/** Seconds do not change a period, but a weekend or a clock change does. */
const KEPT_MS = 10 * 60_000
const MOST = 10_000

/** Parsing a cron expression takes half a millisecond: too long for each of a thousand pipelines in every request. */
export class SchedulePeriods {
  readonly #known = new Map<string, { period: number | null; at: number }>()

  of(schedule: string | null, timezone: string): number | null {
    if (schedule === null) return null
    const key = `${timezone} ${schedule}`
    const known = this.#known.get(key)
    if (known !== undefined && performance.now() - known.at < KEPT_MS) return known.period
    if (this.#known.size >= MOST) this.#known.clear()
    const period = schedulePeriodMs(schedule, timezone)
    this.#known.set(key, { period, at: performance.now() })
    return period
  }
}
