import pg from 'pg'
import { createPool } from '../postgres/client.js'
import { lostOr } from '../postgres/errors.js'
import { nameOfKept } from '../postgres/kept-statements.js'

const INT8 = 20
/** Counts and versions fit into a number; every other type is returned as pg parses it. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** Executes statements: the pool, or one session inside a transaction. */
export interface Queryable {
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/**
 * No transaction stays idle: a runner that freezes in one would block a pipeline for all others. Set by a statement,
 * because poolers reject them as connection parameters.
 */
const TIME_OUTS =
  "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '5s'"

/**
 * The connections of the meta store. Every statement is short; no statement waits for a lock longer than a few
 * seconds.
 */
export class Database implements Queryable {
  readonly #pool: pg.Pool
  #isDirect = false

  constructor(url: string, options: { name: string; size: number }) {
    this.#pool = createPool({
      connectionString: url,
      application_name: options.name,
      max: options.size,
      types: TYPES,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      // The server may be unreachable without a reset; a statement without a response by then will never get one.
      query_timeout: 35_000,
    })
    // The pool replaces a broken idle connection at its next use; without a listener it would end the process.
    this.#pool.on('error', () => {})
    // The same for a connection in use: its statement fails, which is handled; pg emits the error a second time.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      client.query(TIME_OUTS).catch(() => {})
    })
  }

  /** No pooler is between this process and the server, so that a connection may keep prepared statements. */
  isDirect(): void {
    this.#isDirect = true
  }

  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const session = await this.#connect()
    try {
      const name = this.#isDirect ? nameOfKept(text) : undefined
      const { rows } = await session.query<R>({
        text,
        values: [...values],
        ...(name === undefined ? {} : { name }),
      })
      session.release()
      return rows
    } catch (raised) {
      const error = lostOr(raised)
      // A session that did not respond may still be executing the statement: it does not return to the pool.
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
      // Rolled back before the caller sees the error: a session that is merely dropped keeps its locks for some
      // moments, and a runner that looks for work meanwhile would skip the pipeline. A session that did not respond
      // is not used again.
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
