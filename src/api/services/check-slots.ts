import { VitrinaError } from '../../model/errors.js'

export interface CheckLimits {
  readonly total: number
  readonly perToken: number
}

const RETRY_AFTER_SECONDS = 1

/**
 * How many checks run at the same time, in all and for each caller. Each takes database sessions, and 220 of one viewer
 * took 184 of the 200 that a server had. A place is held as long as the work lasts, whether the caller waits for it or not.
 */
export class CheckSlots {
  readonly #limits: CheckLimits
  readonly #byCaller = new Map<string, number>()
  #total = 0

  constructor(limits: CheckLimits) {
    this.#limits = limits
  }

  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const { total, perToken } = this.#limits
    const mine = this.#byCaller.get(caller) ?? 0
    if (mine >= perToken) throw tooMany(`This token has ${mine} checks running`, 'API_MAX_CHECKS_PER_CALLER')
    if (this.#total >= total) throw tooMany(`${total} checks are running`, 'API_MAX_CHECKS')
    this.#total += 1
    this.#byCaller.set(caller, mine + 1)
    try {
      return await work()
    } finally {
      this.#free(caller)
    }
  }

  #free(caller: string): void {
    this.#total -= 1
    const mine = this.#byCaller.get(caller)! - 1
    if (mine === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, mine)
  }
}

function tooMany(fact: string, setting: string): VitrinaError {
  return new VitrinaError(
    'TOO_MANY_CHECKS',
    `${fact}, and no more may run at the same time.`,
    `Wait until one has ended, then try again; ${setting} sets the limit.`,
    { facts: { retry_after_seconds: RETRY_AFTER_SECONDS } },
  )
}
