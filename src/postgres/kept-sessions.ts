import type pg from 'pg'
import { isInTransaction, socketOf } from './client.js'
import { lostOr } from './errors.js'
import { STATEMENT_PREFIX } from './kept-statements.js'
import { SMALL_MESSAGE } from './message-limit.js'
import { CHECK_INTERVAL, type Connection, connect, SET_SESSION, Session } from './session.js'

/** Closed after this long without use. */
const IDLE_MS = 30_000
/** A login that was changed, or a server process that grew, is given up after this long. */
const MOST_AGE_MS = 600_000
/** For each address and purpose. */
const MOST_IDLE = 4
/** How long a connection may take to become free of what its last session left. */
const CLEAN_MS = 2_000
/** The name of a connection that no run uses. */
const IDLE_NAME = 'vitrina-idle'

export interface SessionUse {
  /** The application_name. */
  readonly name: string
  /**
   * Only sessions with the same purpose get the connection later. What is known about a mart belongs to the connections
   * to its two sides: a run that gets them the other way around, or that of a change log, has to find it out again.
   */
  readonly purpose: 'source' | 'target' | 'log' | 'inspection'
}

/** Opens the sessions of a run, or returns those that a group shares. */
export interface SessionOpener {
  open(url: string, use: SessionUse, signal: AbortSignal): Promise<Session>
}

interface Kept {
  readonly connection: Connection
  readonly openedAt: number
}

interface IdleConnection extends Kept {
  readonly timer: NodeJS.Timeout
}

/**
 * Connections of ended runs, for the next ones: a new connection costs 5 ms, and its first statements as much again,
 * because the server process knows no table yet. Settings, temporary tables and locks of the last session are removed,
 * as by DISCARD ALL; what is left are statements that this program has prepared, which are the same for every run.
 * Behind a pooler nothing is kept, because a client that waits there may take the place of another one.
 */
export class KeptSessions implements SessionOpener {
  readonly #idleMs: number
  /** By purpose and address. */
  readonly #idle = new Map<string, IdleConnection[]>()
  readonly #cleaning = new Set<Promise<void>>()
  #isClosed = false

  constructor({ idleMs = IDLE_MS }: { idleMs?: number } = {}) {
    this.#idleMs = idleMs
  }

  async open(url: string, { name, purpose }: SessionUse, signal: AbortSignal): Promise<Session> {
    const pool = `${purpose} ${url}`
    const kept = (await this.#reuse(pool, name)) ?? (await openNew(url, { name, purpose }))
    return new Session(kept.connection, signal, () => this.#leave(pool, kept))
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

  async #reuse(pool: string, name: string): Promise<Kept | null> {
    for (let idle = this.#take(pool); idle !== null; idle = this.#take(pool)) {
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

  #take(pool: string): IdleConnection | null {
    const idle = this.#idle.get(pool)?.pop() ?? null
    if (idle === null) return null
    clearTimeout(idle.timer)
    socketOf(idle.connection.client).ref()
    return idle
  }

  /** Not awaited by the run. */
  #leave(pool: string, kept: Kept): void {
    const cleaning = this.#clean(pool, kept).finally(() => this.#cleaning.delete(cleaning))
    this.#cleaning.add(cleaning)
  }

  async #clean(pool: string, kept: Kept): Promise<void> {
    const { client, server } = kept.connection
    const isOld = performance.now() - kept.openedAt > MOST_AGE_MS
    const isFull = (this.#idle.get(pool)?.length ?? 0) >= MOST_IDLE
    if (this.#isClosed || server.isPooled || isOld || isFull) return end(kept)
    const limit = setTimeout(() => socketOf(client).destroy(), CLEAN_MS)
    try {
      const isClean = !isInTransaction(client) && (await isCleaned(kept.connection))
      await (isClean ? this.#put(pool, kept) : end(kept))
    } catch {
      await end(kept)
    } finally {
      clearTimeout(limit)
    }
  }

  #put(pool: string, kept: Kept): void {
    const all = this.#idle.get(pool) ?? []
    const timer = setTimeout(() => {
      const at = all.findIndex(({ connection }) => connection === kept.connection)
      if (at >= 0) void end(all.splice(at, 1)[0]!)
    }, this.#idleMs)
    timer.unref()
    // An idle connection does not keep the process alive.
    socketOf(kept.connection.client).unref()
    all.push({ ...kept, timer })
    this.#idle.set(pool, all)
  }
}

// DISCARD ALL without its DEALLOCATE ALL and DISCARD PLANS.
const CLEAN = `CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all();
  DISCARD TEMP; DISCARD SEQUENCES`
const FOREIGN = `SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE NOT pg_catalog.starts_with(name, '${STATEMENT_PREFIX}') LIMIT 1`

/** In one round trip. False: the session has statements that this program did not prepare. */
async function isCleaned({ client, checksClient }: Connection): Promise<boolean> {
  const check = checksClient ? `SET client_connection_check_interval = '${CHECK_INTERVAL}'; ` : ''
  const results = await client.query(`${CLEAN}; ${SET_SESSION}; ${check}${FOREIGN}`)
  const [last] = (results as unknown as pg.QueryResult[]).slice(-1)
  return last?.rows.length === 0
}

async function openNew(url: string, { name, purpose }: SessionUse): Promise<Kept> {
  const most = purpose === 'inspection' ? SMALL_MESSAGE : undefined
  const kept = { connection: await connect(url, IDLE_NAME, most), openedAt: performance.now() }
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
