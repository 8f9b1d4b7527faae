import { VitrinaError } from '../../model/errors.js'

export interface CheckLimits {
  readonly total: number
  readonly perToken: number
  /** How long a check may wait for a slot; 10 s unless set. */
  readonly timeoutMs?: number
  /** For each slot of a caller, this many may wait; 4 unless set. */
  readonly waitingPerSlot?: number
}

interface WaitingCheck {
  readonly caller: string
  readonly admit: () => void
}

const RETRY_AFTER_SECONDS = 1
const TIMEOUT_MS = 10_000
/** More are rejected at once: waiting costs memory too. */
const WAITING_PER_SLOT = 4

/**
 * How many checks run at the same time, in total and per caller. Each uses database sessions: 220 checks of one
 * viewer once took 184 of the 200 sessions of a server. A few more may wait, because a user with the console open in
 * four tabs is not an attacker. A slot is held as long as the work lasts, even if the caller disconnects.
 */
export class CheckSlots {
  readonly #limits: CheckLimits
  readonly #byCaller = new Map<string, number>()
  readonly #waiting: WaitingCheck[] = []
  #total = 0

  constructor(limits: CheckLimits) {
    this.#limits = limits
  }

  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (this.#refusal(caller) !== null) await this.#wait(caller)
    else this.#take(caller)
    try {
      return await work()
    } finally {
      this.#free(caller)
    }
  }

  /** Resolves when a slot is free. */
  #wait(caller: string): Promise<void> {
    const { perToken, timeoutMs = TIMEOUT_MS, waitingPerSlot = WAITING_PER_SLOT } = this.#limits
    const refusal = this.#refusal(caller)!
    const others = this.#waiting.filter((one) => one.caller === caller).length
    if (others >= perToken * waitingPerSlot) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(refusal)
      }, timeoutMs)
      const waiting: WaitingCheck = {
        caller,
        admit: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      this.#waiting.push(waiting)
    })
  }

  /** Why this caller gets no slot now. */
  #refusal(caller: string): VitrinaError | null {
    const { total, perToken } = this.#limits
    const mine = this.#byCaller.get(caller) ?? 0
    if (mine >= perToken) return tooMany(`This token has ${mine} checks running`, 'API_MAX_CHECKS_PER_CALLER')
    if (this.#total >= total) return tooMany(`${total} checks are running`, 'API_MAX_CHECKS')
    return null
  }

  #take(caller: string): void {
    this.#total += 1
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1)
  }

  #free(caller: string): void {
    this.#total -= 1
    const mine = this.#byCaller.get(caller)! - 1
    if (mine === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, mine)
    this.#admitNext()
  }

  /** In the order of arrival, skipping callers without a free slot. */
  #admitNext(): void {
    const at = this.#waiting.findIndex((one) => this.#refusal(one.caller) === null)
    if (at < 0) return
    const [next] = this.#waiting.splice(at, 1)
    this.#take(next!.caller)
    next!.admit()
  }
}

function tooMany(fact: string, setting: string): VitrinaError {
  return new VitrinaError(
    'TOO_MANY_CHECKS',
    `${fact}, which is the maximum.`,
    `Wait until one has ended, then try again; ${setting} sets the limit.`,
    { facts: { retry_after_seconds: RETRY_AFTER_SECONDS } },
  )
}
