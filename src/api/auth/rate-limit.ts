import { VitrinaError } from '../../model/errors.js'

interface Bucket {
  left: number
  at: number
}

/** Buckets that are full again are forgotten when there are more of them than this. */
const MOST_BUCKETS = 10_000

/** A bucket for each caller: a minute's worth of requests at once, refilled steadily. */
export class RateLimit {
  readonly #perMinute: number
  readonly #now: () => number
  readonly #setting: string | null
  readonly #buckets = new Map<string, Bucket>()

  /** `now` in milliseconds, of a clock that never goes back. `setting` is what sets the limit; null: nothing does. */
  constructor(
    perMinute: number,
    now: () => number = () => performance.now(),
    setting: string | null = 'API_RATE_LIMIT',
  ) {
    this.#perMinute = perMinute
    this.#now = now
    this.#setting = setting
  }

  /** Throws RATE_LIMITED when the caller has used up its share. */
  take(caller: string): void {
    const now = this.#now()
    const bucket = this.#buckets.get(caller) ?? this.#newBucket(caller, now)
    bucket.left = Math.min(this.#perMinute, bucket.left + (now - bucket.at) * this.#perMs)
    bucket.at = now
    if (bucket.left < 1) throw this.#limited(Math.ceil((1 - bucket.left) / this.#perMs / 1000))
    bucket.left -= 1
  }

  /** For what turned out well, where only failures shall count. */
  giveBack(caller: string): void {
    const bucket = this.#buckets.get(caller)
    if (bucket !== undefined) bucket.left = Math.min(this.#perMinute, bucket.left + 1)
  }

  get #perMs(): number {
    return this.#perMinute / 60_000
  }

  #newBucket(caller: string, now: number): Bucket {
    if (this.#buckets.size >= MOST_BUCKETS) this.#forgetFull(now)
    const bucket = { left: this.#perMinute, at: now }
    this.#buckets.set(caller, bucket)
    return bucket
  }

  #forgetFull(now: number): void {
    for (const [caller, { left, at }] of this.#buckets)
      if (left + (now - at) * this.#perMs >= this.#perMinute) this.#buckets.delete(caller)
    // Everybody is busy at once: start over rather than grow.
    if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.clear()
  }

  #limited(seconds: number): VitrinaError {
    return new VitrinaError(
      'RATE_LIMITED',
      `More than ${this.#perMinute} requests in a minute.`,
      `Wait ${seconds} s, then go on more slowly${this.#setting === null ? '' : `; ${this.#setting} sets the limit`}.`,
      { facts: { retry_after_seconds: seconds } },
    )
  }
}
