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
  readonly #buckets = new Map<string, Bucket>()

  /** `now` in milliseconds, of a clock that never goes back. */
  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** Throws RATE_LIMITED when the caller has used up its share. */
  take(caller: string): void {
    const now = this.#now()
    const bucket = this.#buckets.get(caller) ?? this.#newBucket(caller, now)
    bucket.left = Math.min(this.#perMinute, bucket.left + (now - bucket.at) * this.#perMs)
    bucket.at = now
    if (bucket.left < 1) throw limited(this.#perMinute, Math.ceil((1 - bucket.left) / this.#perMs / 1000))
    bucket.left -= 1
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
}

function limited(perMinute: number, seconds: number): VitrinaError {
  return new VitrinaError(
    'RATE_LIMITED',
    `More than ${perMinute} requests in a minute.`,
    `Wait ${seconds} s, then go on more slowly; API_RATE_LIMIT sets the limit.`,
    { facts: { retry_after_seconds: seconds } },
  )
}
