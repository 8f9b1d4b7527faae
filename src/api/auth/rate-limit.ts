import { VitrinaError } from '../../model/errors.js'

interface TokenBucket {
  left: number
  at: number
}

/** Above this number of buckets, full ones are removed. */
const MOST_BUCKETS = 10_000

interface LimitMeaning {
  /** What is limited. */
  readonly what: string
  /** The setting with the limit; null: none. */
  readonly setting: string | null
}

const REQUESTS: LimitMeaning = { what: 'requests', setting: 'API_RATE_LIMIT' }

/** A token bucket per caller: one minute's worth of requests at once, refilled steadily. */
export class RateLimit {
  readonly #perMinute: number
  readonly #now: () => number
  readonly #means: LimitMeaning
  readonly #buckets = new Map<string, TokenBucket>()

  /** `now` in milliseconds, from a monotonic clock. */
  constructor(
    perMinute: number,
    now: () => number = () => performance.now(),
    means: LimitMeaning = REQUESTS,
  ) {
    this.#perMinute = perMinute
    this.#now = now
    this.#means = means
  }

  /** Throws RATE_LIMITED if the caller has used up its share. */
  take(caller: string): void {
    const bucket = this.#filled(caller)
    if (bucket.left < 1) throw this.#limited(bucket)
    bucket.left -= 1
  }

  isEmpty(caller: string): boolean {
    return this.#buckets.has(caller) && this.#filled(caller).left < 1
  }

  /** Throws RATE_LIMITED, for requests rejected because the caller has used up another share. */
  refuse(caller: string): never {
    throw this.#limited(this.#filled(caller))
  }

  /** Returns a request that should not count after all. */
  giveBack(caller: string): void {
    const bucket = this.#buckets.get(caller)
    if (bucket !== undefined) bucket.left = Math.min(this.#perMinute, bucket.left + 1)
  }

  get #perMs(): number {
    return this.#perMinute / 60_000
  }

  #filled(caller: string): TokenBucket {
    const now = this.#now()
    const bucket = this.#buckets.get(caller) ?? this.#newBucket(caller, now)
    bucket.left = Math.min(this.#perMinute, bucket.left + (now - bucket.at) * this.#perMs)
    bucket.at = now
    return bucket
  }

  #newBucket(caller: string, now: number): TokenBucket {
    if (this.#buckets.size >= MOST_BUCKETS) this.#forgetFull(now)
    const bucket = { left: this.#perMinute, at: now }
    this.#buckets.set(caller, bucket)
    return bucket
  }

  #forgetFull(now: number): void {
    for (const [caller, { left, at }] of this.#buckets)
      if (left + (now - at) * this.#perMs >= this.#perMinute) this.#buckets.delete(caller)
    // All callers are active at once: reset instead of growing.
    if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.clear()
  }

  #limited({ left }: TokenBucket): VitrinaError {
    const seconds = Math.max(1, Math.ceil((1 - left) / this.#perMs / 1000))
    const { what, setting } = this.#means
    return new VitrinaError(
      'RATE_LIMITED',
      `More than ${this.#perMinute} ${what} in a minute.`,
      `Wait ${seconds} s, then send requests more slowly${setting === null ? '' : `; ${setting} sets the limit`}.`,
      { facts: { retry_after_seconds: seconds } },
    )
  }
}
