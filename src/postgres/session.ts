import type { Readable, Writable } from 'node:stream'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { sqlstateOf } from '../sql/sqlstate.js'
import { LimitedClient, pipelined, socketOf } from './client.js'
import { CopyOut } from './copy-out.js'
import { lostOr } from './errors.js'
import { nameOfKept } from './kept-statements.js'
import { type CheckedServer, checkServer } from './server-check.js'

/** Every value as the database writes it. A JS Date drops microseconds, a number drops digits. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string | Buffer) => text }

/** The text of a value depends on these; with them it is the same in every database and reads back as the same value. */
const TEXT_FORMAT = {
  // A name refers to a built-in object or includes its schema: no user can substitute their own object.
  search_path: '',
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '3',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  xmloption: 'content',
  lc_monetary: 'C',
}

/** The time-outs release the locks of a runner that no longer responds. */
const SESSION_SETTINGS = {
  ...TEXT_FORMAT,
  // Sorting a batch by its key in memory instead of on disk: 200,000 films took a third less.
  work_mem: '128MB',
  lock_timeout: '30s',
  statement_timeout: '1h',
  idle_in_transaction_session_timeout: '5min',
}

/** Statements after which a session writes values as every Session does. */
export const SET_TEXT_FORMAT = setAll(TEXT_FORMAT)

/** The settings of every Session, for a program in another language. */
export const SET_SESSION = setAll(SESSION_SETTINGS)

function setAll(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([setting, value]) => `SET ${setting} = '${value}'`)
    .join('; ')
}

/** For a read-only session: every transaction sees one snapshot and can change nothing. */
export const READ_ONLY =
  'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

export type TextRow = Record<string, string | null>

/** A result column with its origin: tableId is 0 for an expression. */
export interface Field {
  readonly name: string
  readonly typeOid: number
  readonly typeModifier: number
  readonly tableId: number
  readonly columnId: number
}

/** A connection with the settings of every Session. It may serve several of them, one after the other. */
export interface Connection {
  readonly client: pg.Client
  readonly server: CheckedServer
  /** The server looks for a disconnected client during a statement. */
  readonly checksClient: boolean
}

export async function connect(url: string, name: string, mostBytes?: number): Promise<Connection> {
  const client = new LimitedClient({
    mostBytes,
    connectionString: url,
    application_name: name,
    types: AS_TEXT,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  // A broken idle connection shows itself at the next statement.
  client.on('error', () => {})
  try {
    await client.connect()
    const server = await checkServer(client, url)
    return { client, server, checksClient: await applySettings(client) }
  } catch (error) {
    await client.end().catch(() => {})
    throw lostOr(error)
  }
}

/** How often the server looks for a disconnected client during a statement. */
export const CHECK_INTERVAL = '5s'

/** Returns whether the server looks for disconnected clients. */
async function applySettings(client: pg.Client): Promise<boolean> {
  await client.query(SET_SESSION)
  try {
    await client.query(`SET client_connection_check_interval = '${CHECK_INTERVAL}'`)
    return true
  } catch (error) {
    // PostgreSQL 14 accepts it on Linux only.
    if (sqlstateOf(error) !== '22023') throw error
    return false
  }
}

/** One connection, used by one run for one side of a transfer. When its signal aborts, the socket is cut at once. */
export class Session {
  readonly connection: Connection
  readonly #client: pg.Client
  readonly #cut: () => void
  readonly #signal: AbortSignal
  readonly #leave: (connection: Connection) => void | Promise<void>
  #lastTurn: Promise<void> = Promise.resolve()
  /** Statements of `together` that are not answered yet; null: each one waits for its turn. */
  #together: Set<Promise<unknown>> | null = null
  /** COPY may not have been answered to its end. */
  #hasCopied = false
  #afterCopy: (() => void) | null = null
  #isClosed = false

  /** `leave` is given the connection when the session is closed in good order. */
  constructor(
    connection: Connection,
    signal: AbortSignal,
    leave: (connection: Connection) => void | Promise<void> = ({ client }) => client.end(),
  ) {
    const { client } = connection
    this.connection = connection
    this.#client = client
    this.#signal = signal
    this.#leave = leave
    this.#cut = () => socketOf(client).destroy()
    signal.addEventListener('abort', this.#cut)
  }

  static async open(url: string, name: string, signal: AbortSignal): Promise<Session> {
    return new Session(await connect(url, name), signal)
  }

  /** Statements without parameters; one text may contain several. */
  async run(text: string): Promise<void> {
    await this.#guarded(() => this.#client.query(text))
  }

  async rows<R extends TextRow = TextRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.#guarded(() => this.#client.query(this.#one(text, values)))).rows as R[]
  }

  /** The row of a statement that always returns exactly one. */
  async row<R extends TextRow = TextRow>(text: string, values: readonly unknown[] = []): Promise<R> {
    const [row] = await this.rows<R>(text, values)
    if (row === undefined) throw new Error(`The server returned no row for: ${text}`)
    return row
  }

  /** The number of rows affected by a writing statement. */
  async count(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.#guarded(() => this.#client.query(this.#one(text, values)))).rowCount ?? 0
  }

  async fields(text: string): Promise<Field[]> {
    const { fields } = await this.#guarded(() => this.#client.query(this.#one(text, [])))
    return fields.map((field) => ({
      name: field.name,
      typeOid: field.dataTypeID,
      typeModifier: field.dataTypeModifier,
      tableId: field.tableID,
      columnId: field.columnID,
    }))
  }

  /** The bytes of COPY … TO STDOUT, as the server sends them. */
  copyOut(text: string): Readable {
    this.#hasCopied = true
    const bytes = this.#client.query(new CopyOut(text))
    const next = this.#afterCopy
    this.#afterCopy = null
    next?.()
    // The reader gets the error; without a reader, it must not end the process.
    return bytes.on('error', () => {})
  }

  /**
   * Called when the next COPY was sent: statements of `work` wait for it in the server, and are answered while its last
   * rows are still being written elsewhere. Null: nothing is.
   */
  afterCopy(work: (() => void) | null): void {
    this.#afterCopy = work
  }

  /** Feeds COPY … FROM STDIN; returns the number of rows copied. */
  async copyIn(text: string, bytes: Readable): Promise<number> {
    const sink = this.#client.query(copyFrom(text))
    const readToEnd = new Promise<void>((resolve) =>
      bytes.once('end', resolve).once('error', () => resolve()),
    )
    try {
      await this.#guarded(() => flow(bytes, sink))
    } catch (error) {
      sink.destroy(error as Error)
      // The rest must be read: until then, the sending session accepts no other statement.
      bytes.unpipe().resume()
      await readToEnd
      throw error
    }
    return (sink as unknown as { rowCount: number }).rowCount
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#signal.removeEventListener('abort', this.#cut)
    if (this.#signal.aborted) await this.#client.end().catch(() => {})
    else await Promise.resolve(this.#leave(this.connection)).catch(() => {})
  }

  /**
   * Waits until the session is free; the caller must end its turn. Reading ahead and the checkpoint share a session, and
   * one connection runs one statement at a time.
   */
  async turn(): Promise<() => void> {
    const before = this.#lastTurn
    let end = () => {}
    this.#lastTurn = new Promise((resolve) => {
      end = resolve
    })
    await before
    return end
  }

  /**
   * Statements that `work` sends without waiting for each other reach the server at once and are answered in their
   * order: a round trip for all of them. Each is still a separate statement. Not for COPY.
   */
  async together<T>(work: () => Promise<T>): Promise<T> {
    if (this.#together !== null) return work()
    if (this.#hasCopied) await this.run('')
    const end = await this.turn()
    const sent = new Set<Promise<unknown>>()
    this.#together = sent
    pipelined(this.#client, true)
    try {
      return await work()
    } finally {
      // One has failed: the others must be answered before another statement is sent.
      while (sent.size > 0) await Promise.allSettled(sent)
      this.#together = null
      pipelined(this.#client, false)
      end()
    }
  }

  #guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#together === null) return this.#inTurn(work)
    const sent = this.#checked(work)
    const all = this.#together
    all.add(sent)
    const forget = () => void all.delete(sent)
    sent.then(forget, forget)
    return sent
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const end = await this.turn()
    try {
      const result = await this.#checked(work)
      this.#hasCopied = false
      return result
    } finally {
      end()
    }
  }

  async #checked<T>(work: () => Promise<T>): Promise<T> {
    try {
      this.#signal.throwIfAborted()
      // The connection may belong to another session by now.
      if (this.#isClosed) throw new Error('Connection terminated: the session is closed.')
      return await work()
    } catch (error) {
      // After an abort the closed socket is only the consequence: report the reason.
      this.#signal.throwIfAborted()
      throw lostOr(error)
    }
  }

  /** The extended protocol accepts only one statement: the server rejects a query that contains a second one. */
  #one(text: string, values: readonly unknown[]): pg.QueryConfig {
    // Behind a pooler another client may get the server's session, with the statements that it has prepared.
    const name = this.connection.server.isPooled ? undefined : nameOfKept(text)
    const config = { text, values: [...values], queryMode: 'extended' } as pg.QueryConfig
    return name === undefined ? config : { ...config, name }
  }
}

/** `together` for two sessions, which may be one. */
export function allTogether<T>(
  [first, second]: readonly [Session, Session],
  work: () => Promise<T>,
): Promise<T> {
  return first.together(() => second.together(work))
}

/** Node's pipeline() waits until the sink is destroyed, and a sink that the server has rejected never reports that. */
function flow(bytes: Readable, sink: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    for (const stream of [bytes, sink] as NodeJS.EventEmitter[]) stream.on('error', reject)
    sink.once('finish', resolve)
    bytes.pipe(sink)
  })
}
