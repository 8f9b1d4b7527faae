import { socketOf } from './client.js'
import { lostOr } from './errors.js'
import { applySettings, type Connection, connect, Session } from './session.js'

/** Closed after this long without use. */
const IDLE_MS = 30_000
/** A login that was changed, or a server process that grew, is given up after this long. */
const MOST_AGE_MS = 600_000
/** For each address. */
const MOST_IDLE = 4
/** How long a connection may take to become free of what its last session left. */
const CLEAN_MS = 2_000
/** The name of a connection that no run uses. */
const IDLE_NAME = 'vitrina-idle'

/** Opens the sessions of a run, or returns those that a group shares. */
export interface SessionOpener {
  open(url: string, name: string, signal: AbortSignal): Promise<Session>
}

interface Kept {
  readonly connection: Connection
  readonly openedAt: number
}

interface Idle extends Kept {
  readonly timer: NodeJS.Timeout
}

/**
 * Connections of ended runs, for the next ones: a new connection costs 5 ms, and its first statements as much again,
 * because the server process knows no table yet. Nothing of the last session is left: DISCARD ALL removes settings,
 * temporary tables, prepared statements and locks. Behind a pooler nothing is kept, because a client that waits there
 * may take the place of another one.
 */
export class KeptSessions implements SessionOpener {
  readonly #idleMs: number
  readonly #idle = new Map<string, Idle[]>()
  readonly #cleaning = new Set<Promise<void>>()
  #isClosed = false

  constructor({ idleMs = IDLE_MS }: { idleMs?: number } = {}) {
    this.#idleMs = idleMs
  }

  async open(url: string, name: string, signal: AbortSignal): Promise<Session> {
    const kept = (await this.#reuse(url, name)) ?? (await openNew(url, name))
    return new Session(kept.connection, signal, () => this.#leave(url, kept))
  }

  /** Until every connection that was left can be used again, or has been ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#cleaning)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.settled()
    const all = [...this.#idle.values()].flat()
    this.#idle.clear()
    await Promise.all(all.map(end))
  }

  async #reuse(url: string, name: string): Promise<Kept | null> {
    for (let idle = this.#take(url); idle !== null; idle = this.#take(url)) {
      try {
        await setName(idle, name)
        return idle
      } catch {
        // Ended by the server meanwhile.
        await end(idle)
      }
    }
    return null
  }

  #take(url: string): Idle | null {
    const idle = this.#idle.get(url)?.pop() ?? null
    if (idle === null) return null
    clearTimeout(idle.timer)
    socketOf(idle.connection.client).ref()
    return idle
  }

  /** Not awaited by the run. */
  #leave(url: string, kept: Kept): void {
    const cleaning = this.#clean(url, kept).finally(() => this.#cleaning.delete(cleaning))
    this.#cleaning.add(cleaning)
  }

  async #clean(url: string, kept: Kept): Promise<void> {
    const { client, server } = kept.connection
    const isOld = performance.now() - kept.openedAt > MOST_AGE_MS
    const isFull = (this.#idle.get(url)?.length ?? 0) >= MOST_IDLE
    if (this.#isClosed || server.isPooled || isOld || isFull) return end(kept)
    const limit = setTimeout(() => socketOf(client).destroy(), CLEAN_MS)
    try {
      // An open transaction makes it fail: such a connection is not kept.
      await client.query('DISCARD ALL')
      await applySettings(client)
      this.#put(url, kept)
    } catch {
      await end(kept)
    } finally {
      clearTimeout(limit)
    }
  }

  #put(url: string, kept: Kept): void {
    const all = this.#idle.get(url) ?? []
    const timer = setTimeout(() => {
      const at = all.findIndex(({ connection }) => connection === kept.connection)
      if (at >= 0) void end(all.splice(at, 1)[0]!)
    }, this.#idleMs)
    timer.unref()
    // An idle connection does not keep the process alive.
    socketOf(kept.connection.client).unref()
    all.push({ ...kept, timer })
    this.#idle.set(url, all)
  }
}

async function openNew(url: string, name: string): Promise<Kept> {
  const kept = { connection: await connect(url, IDLE_NAME), openedAt: performance.now() }
  await setName(kept, name).catch(async (error) => {
    await end(kept)
    throw lostOr(error)
  })
  return kept
}

async function setName({ connection: { client } }: Kept, name: string): Promise<void> {
  await client.query(`SET application_name = ${client.escapeLiteral(name)}`)
}

async function end({ connection: { client } }: Kept): Promise<void> {
  await client.end().catch(() => {})
}
