import { RateLimit } from './rate-limit.js'

/** Wrong tokens and codes from one address in a minute. */
const WRONG_PER_MINUTE = 30
/** This many more are accepted for a token that this address has used before. */
const PATIENCE = 10
/** How long an address is remembered after it used a valid token. */
const REMEMBERED_MS = 60 * 60_000
const MOST_REMEMBERED = 10_000

/**
 * One limit for wrong sign-ins and wrong bearer tokens, per address. Other users of the address, such as those behind
 * the same proxy, are not locked out: tokens, codes and sessions created by Vitrina have at least 192 random bits and
 * cannot be guessed, so a valid one is always accepted. A token chosen by a person can be guessed. It is rejected
 * after too many wrong ones, unless this address has used it before, and after many wrong ones even then.
 */
export class Guesses {
  readonly #few: RateLimit
  readonly #many: RateLimit
  readonly #now: () => number
  readonly #used = new Map<string, number>()

  constructor(perMinute: number = WRONG_PER_MINUTE, now: () => number = () => performance.now()) {
    const what = 'wrong tokens or codes from one address'
    const means = { what, setting: null }
    this.#few = new RateLimit(perMinute, now, means)
    this.#many = new RateLimit(perMinute * PATIENCE, now, means)
    this.#now = now
  }

  /** Counts a wrong credential; throws RATE_LIMITED after too many. */
  wrong(address: string): void {
    if (!this.#many.isEmpty(address)) this.#many.take(address)
    this.#few.take(address)
  }

  /** Throws RATE_LIMITED if a valid credential could be the result of guessing. */
  right(address: string, isGuessable: boolean): void {
    if (!isGuessable) return
    if (this.#few.isEmpty(address) && (this.#many.isEmpty(address) || !this.#hasUsed(address)))
      this.#few.refuse(address)
    this.#remember(address)
  }

  #hasUsed(address: string): boolean {
    const at = this.#used.get(address)
    return at !== undefined && this.#now() - at < REMEMBERED_MS
  }

  #remember(address: string): void {
    // The oldest is first: a renewed entry moves to the end.
    this.#used.delete(address)
    this.#used.set(address, this.#now())
    const [oldest] = this.#used.keys()
    if (this.#used.size > MOST_REMEMBERED && oldest !== undefined) this.#used.delete(oldest)
  }
}
