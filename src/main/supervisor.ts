import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'

/** A process that is kept running. */
export interface SupervisedProcess {
  readonly pid: number | null
  /** Its exit code, 128 + n if signal n ended it. Settles whether or not it was stopped on request. */
  readonly exited: Promise<number>
  stop(): Promise<void>
}

export interface Supervision {
  /** Used in sentences: "the runner". */
  readonly name: string
  readonly report: (line: string) => void
  /** Resolves when it works again. */
  readonly restart: (signal: AbortSignal) => Promise<SupervisedProcess>
}

/** 0.5, 1, 2, 4 and 8 s: an embedded PostgreSQL that was killed is back long before the last one. */
const MAX_RESTARTS = 5
const FIRST_WAIT_MS = 500
/** A part that ran this long has recovered: its next exit counts as the first one again. */
const STABLE_MS = 60_000

/** Restarts a part that exits by itself, with growing delays, and gives up if it does not stay up. */
export class Supervisor {
  /** Rejects when it gives up. */
  readonly failed: Promise<never>
  readonly #supervision: Supervision
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>
  #part: SupervisedProcess
  #deaths = 0

  constructor(supervision: Supervision, part: SupervisedProcess) {
    this.#supervision = supervision
    this.#part = part
    this.#watching = this.#watch()
    this.failed = this.#watching.then(() => new Promise<never>(() => {}))
    // Handled where it is awaited; until then it must not end the process.
    this.failed.catch(() => {})
  }

  /** Stops the part, also one that is being restarted. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#watching.catch(() => {})
    await this.#part.stop()
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const since = performance.now()
      const code = await Promise.race([this.#part.exited, aborted(this.#stop.signal)])
      if (code === null) return
      if (performance.now() - since > STABLE_MS) this.#deaths = 0
      await this.#restart(`${this.#title} ${howItEnded(code)}`)
    }
  }

  /** Resolves when the part is running again, or when it is no longer needed. */
  async #restart(reason: string): Promise<void> {
    const { signal } = this.#stop
    const { name, report, restart } = this.#supervision
    for (let why = reason; !signal.aborted; ) {
      this.#deaths += 1
      if (this.#deaths > MAX_RESTARTS) throw gaveUp(name, this.#deaths, why)
      const waitMs = FIRST_WAIT_MS * 2 ** (this.#deaths - 1)
      report(`${why} Restarting it in ${waitMs / 1000} s (restart ${this.#deaths} of ${MAX_RESTARTS}).`)
      await wait(waitMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        this.#part = await restart(signal)
        return report(`${this.#title} is running again.`)
      } catch (error) {
        why = error instanceof Error ? error.message : String(error)
      }
    }
  }

  get #title(): string {
    const { pid } = this.#part
    const name = `The ${this.#supervision.name}`
    return pid === null ? name : `${name} (process ${pid})`
  }
}

export function howItEnded(code: number): string {
  const [signal] = Object.entries(constants.signals).find(([, number]) => 128 + number === code) ?? []
  return signal === undefined ? `exited with code ${code}.` : `was killed by ${signal}.`
}

function gaveUp(name: string, deaths: number, why: string): VitrinaError {
  return new VitrinaError(
    'PROCESS_FAILED',
    `The ${name} exited ${deaths} times without running for ${STABLE_MS / 1000} s in between. ${why}`,
    'The lines above show the reason. Everything else is stopped; fix the cause, then start again.',
  )
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null)
    signal.addEventListener('abort', () => resolve(null), { once: true })
  })
}
