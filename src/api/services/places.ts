import { VitrinaError } from '../../model/errors.js'

export interface PlaceLimits {
  readonly total: number
  readonly perToken: number
}

interface PlaceMeaning {
  /** What a place is for, in the plural. */
  readonly what: string
  readonly remedy: string
  /** API_MAX_STREAMS and API_MAX_STREAMS_PER_CALLER set the limits; not given: they do. */
  readonly hasSettings?: boolean
}

/** How long a rejected client waits; closing a tab frees its place. */
const RETRY_AFTER_SECONDS = 10

/** Responses that stay open: how many at the same time, in total and per caller. */
export class Places {
  readonly #limits: PlaceLimits
  readonly #means: PlaceMeaning
  readonly #byCaller = new Map<string, number>()
  #total = 0

  constructor(limits: PlaceLimits, means: PlaceMeaning) {
    this.#limits = limits
    this.#means = means
  }

  /** Returns the function that frees the place. Throws TOO_MANY_STREAMS if all are taken. */
  take(caller: string): () => void {
    const { total, perToken } = this.#limits
    const { what } = this.#means
    const mine = this.#byCaller.get(caller) ?? 0
    if (mine >= perToken) throw this.#tooMany(`This token has ${mine} ${what}`, 'API_MAX_STREAMS_PER_CALLER')
    if (this.#total >= total) throw this.#tooMany(`There are ${total} ${what}`, 'API_MAX_STREAMS')
    this.#total += 1
    this.#byCaller.set(caller, mine + 1)
    return () => this.#free(caller)
  }

  #free(caller: string): void {
    this.#total -= 1
    const left = this.#byCaller.get(caller)! - 1
    if (left === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, left)
  }

  #tooMany(fact: string, setting: string): VitrinaError {
    const { remedy, hasSettings = true } = this.#means
    return new VitrinaError(
      'TOO_MANY_STREAMS',
      `${fact}, which is the maximum.`,
      `${remedy}${hasSettings ? ` ${setting} sets the limit.` : ''}`,
      { facts: { retry_after_seconds: RETRY_AFTER_SECONDS } },
    )
  }
}
