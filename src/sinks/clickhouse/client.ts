import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { VitrinaError } from '../../model/errors.js'
import { decodeLines, type TextValues } from '../../sql/copy-text.js'
import type { ClickHouseAddress } from './config.js'
import { isTemporary, sinkError } from './errors.js'

export type ClientModule = Pick<typeof import('@clickhouse/client'), 'createClient'>

/** An optional dependency, loaded when a pipeline needs it. */
export const loadClickHouseClient = (): Promise<ClientModule> => import('@clickhouse/client')

/** The version in package.json; a test compares them. */
export const CLIENT_PACKAGE = '@clickhouse/client@1.23.1'

/**
 * A server profile could override each of these, and values would change on the way: NULL becomes a default, the first
 * row is taken for a header, floats are parsed imprecisely, the response arrives before the rows are stored.
 */
const STATEMENT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  wait_end_of_query: 1,
  date_time_input_format: 'basic',
  date_time_output_format: 'simple',
  format_tsv_null_representation: '\\N',
  input_format_allow_errors_num: '0',
  input_format_allow_errors_ratio: 0,
  input_format_null_as_default: 0,
  input_format_tsv_detect_header: 0,
  input_format_tsv_empty_as_default: 0,
  output_format_decimal_trailing_zeros: 0,
  precise_float_parsing: 1,
  // Keys are sent as part of the statement.
  max_query_size: String(64 * 1024 * 1024),
  // Comparing two sets of keys spills to disk instead of failing.
  max_bytes_before_external_group_by: String(1024 * 1024 * 1024),
  max_table_size_to_drop: '0',
}

const REQUEST_TIMEOUT_MS = 600_000
const WAITS_MS = [100, 300, 900]

export interface Statement {
  readonly sql: string
  /** Begins the error message: "… at http://…: access denied". */
  readonly doing: string
}

/** The server, for one attempt or one inspection. */
export class ClickHouseServer {
  readonly #client: ClickHouseClient
  readonly #origin: string
  readonly #signal: AbortSignal
  /** Differs between attempts: the token must not suppress what a later attempt sends intentionally. */
  readonly #attempt = randomUUID()
  #inserts = 0

  constructor(module: ClientModule, address: ClickHouseAddress, signal: AbortSignal) {
    this.#origin = address.origin
    this.#signal = signal
    this.#client = module.createClient({
      url: address.origin,
      username: address.username,
      password: address.password,
      application: 'vitrina',
      request_timeout: REQUEST_TIMEOUT_MS,
      clickhouse_settings: STATEMENT_SETTINGS,
      // Errors are thrown here; the client would log them too.
      log: { level: 127 },
    })
  }

  get origin(): string {
    return this.#origin
  }

  async command(statement: Statement): Promise<void> {
    await this.#again(statement, () => this.#command(statement.sql))
  }

  /** Never sent again automatically: for statements that must not run twice. */
  async commandOnce({ sql, doing }: Statement): Promise<void> {
    await this.#command(sql).catch((error) => {
      throw this.error(error, doing)
    })
  }

  #command(sql: string) {
    return this.#client.command({ query: sql, abort_signal: this.#signal })
  }

  async rows(statement: Statement): Promise<TextValues[]> {
    const text = await this.#again(statement, async () => {
      const result = await this.#query(statement.sql)
      return result.text()
    })
    return text === '' ? [] : decodeLines(Buffer.from(text.slice(0, -1)))
  }

  async *stream({ sql, doing }: Statement): AsyncIterable<TextValues[]> {
    try {
      const result = await this.#query(sql, { wait_end_of_query: 0 })
      for await (const lines of result.stream())
        yield lines.map((line: { text: string }) => decodeLines(Buffer.from(line.text))[0]!)
    } catch (error) {
      throw this.error(error, doing)
    }
  }

  #query(sql: string, settings: ClickHouseSettings = {}) {
    return this.#client.query({
      query: sql,
      format: 'TabSeparated',
      clickhouse_settings: settings,
      abort_signal: this.#signal,
    })
  }

  /** Sends lines in TabSeparated. Throws the client's original error, which the writer inspects first. */
  async insert(into: string, body: string, name: string): Promise<void> {
    // Counted per attempt: a batch may write rows and remove others, and the server must not confuse the two.
    const token = `${this.#attempt}/${name}/${this.#inserts++}`
    const send = async () => {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${into} FORMAT TabSeparated`,
        values: Readable.from([Buffer.from(body)], { objectMode: false }),
        clickhouse_settings: { insert_deduplication_token: token },
        abort_signal: this.#signal,
      })
      stream.resume()
    }
    await this.#withRetries(send)
  }

  async close(): Promise<void> {
    await this.#client.close()
  }

  error(error: unknown, doing: string): unknown {
    // The reason for the abort matters, not how the request noticed it.
    if (this.#signal.aborted) return this.#signal.reason
    return sinkError(error, doing, this.#origin)
  }

  async #again<T>(statement: Statement, request: () => Promise<T>): Promise<T> {
    return this.#withRetries(request).catch((error) => {
      throw this.error(error, statement.doing)
    })
  }

  /** Retries only when the server requested it or was not reached; the token makes a lost response harmless. */
  async #withRetries<T>(request: () => Promise<T>): Promise<T> {
    for (const waitMs of WAITS_MS) {
      try {
        return await request()
      } catch (error) {
        if (!isTemporary(error) || this.#signal.aborted) throw error
        await delay(waitMs, undefined, { signal: this.#signal })
      }
    }
    return request()
  }
}

/** Null if the package is not installed. */
export async function findClient(load: () => Promise<ClientModule>): Promise<ClientModule | null> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  }
}

const OLDEST = [24, 8] as const

/** Returns the version; throws if it is too old. */
export async function requireVersion(server: ClickHouseServer): Promise<string> {
  const [row] = await server.rows({ sql: 'SELECT version()', doing: 'Reading the version' })
  const version = row?.[0] ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return version
  throw new VitrinaError(
    'SINK_REFUSED',
    `ClickHouse at ${server.origin} is version ${version || 'unknown'}; the oldest supported version is ${OLDEST.join('.')}.`,
    'Upgrade the server.',
  )
}
