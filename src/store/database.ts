import pg from 'pg'
import { createPool } from '../postgres/client.js'
import { lostOr } from '../postgres/errors.js'

const INT8 = 20
/** Counts and versions fit into a number; every other type arrives as pg gives it. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** Something that runs statements: the pool, or one session inside a transaction. */
export interface Queryable {
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/**
 * Nothing waits inside a transaction: a runner that is frozen in one would keep a pipeline from everybody else. Set by
 * statement, because a pooler in between refuses to pass them on when a connection is opened.
 */
const TIME_OUTS =
  "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '5s'"

/** The meta store's connections. Every statement is short; nothing waits for a lock for more than a few seconds. */
export class Database implements Queryable {
  readonly #pool: pg.Pool

  constructor(url: string, options: { name: string; size: number }) {
    this.#pool = createPool({
      connectionString: url,
      application_name: options.name,
      max: options.size,
      types: TYPES,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      // The server may be unreachable without a reset; a statement that got no answer by then never will.
      query_timeout: 35_000,
    })
    // An idle connection that breaks is replaced by the pool at its next use; without a listener it would end the process.
    this.#pool.on('error', () => {})
    // The same for one that is in use: its statement fails, and that is heard; pg raises the error a second time.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      client.query(TIME_OUTS).catch(() => {})
    })
  }

  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const session = await this.#connect()
    try {
      const { rows } = await session.query<R>(text, [...values])
      session.release()
      return rows
    } catch (raised) {
      const error = lostOr(raised)
      // A session that gave no answer may still be busy with the question: it does not go back into the pool.
      session.release(error !== raised)
      throw error
    }
  }

  async transaction<T>(work: (session: Queryable) => Promise<T>): Promise<T> {
    const session = await this.#connect()
    try {
      await session.query('BEGIN')
      const result = await work({
        query: async (text, values = []) => (await session.query(text, [...values])).rows,
      })
      await session.query('COMMIT')
      session.release()
      return result
    } catch (raised) {
      const error = lostOr(raised)
      // Undone before the caller hears of it: a session that is merely dropped keeps its locks for some moments, and a
      // runner that looks for work meanwhile would pass over the pipeline. One that gave no answer is not asked again.
      const isOut = error === raised && (await isRolledBack(session))
      session.release(!isOut)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw lostOr(error)
    }
  }
}

async function isRolledBack(session: pg.PoolClient): Promise<boolean> {
  try {
    await session.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}
