import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { VitrinaError } from '../../model/errors.js'
import { decodeLines, type TextValues } from '../../sql/copy-text.js'
import type { Address } from './config.js'
import { mayPass, sinkError } from './errors.js'

export type ClientModule = Pick<typeof import('@clickhouse/client'), 'createClient'>

/** An optional dependency: loaded when a pipeline needs it. */
export const loadClient = (): Promise<ClientModule> => import('@clickhouse/client')

/** The version that package.json names; a test compares them. */
export const CLIENT_PACKAGE = '@clickhouse/client@1.23.1'

/**
 * A profile of the server could set each of these otherwise, and then values would change on their way: NULL become a
 * default, a first row be taken for a heading, floats be read roughly, an answer come before the rows are stored.
 */
const SETTINGS: ClickHouseSettings = {
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
  // Keys are sent inside the statement.
  max_query_size: String(64 * 1024 * 1024),
  // Comparing two sets of keys goes to disk rather than fail.
  max_bytes_before_external_group_by: String(1024 * 1024 * 1024),
  max_table_size_to_drop: '0',
}

const REQUEST_TIMEOUT_MS = 600_000
const WAITS_MS = [100, 300, 900]

export interface Statement {
  readonly sql: string
  /** Ends the sentence "… at http://…: refused". */
  readonly doing: string
}

/** The server, for one attempt or one look. */
export class Server {
  readonly #client: ClickHouseClient
  readonly #origin: string
  readonly #signal: AbortSignal
  /** One for each attempt: a token must not stop what a later attempt sends on purpose. */
  readonly #attempt = randomUUID()
  #inserts = 0

  constructor(module: ClientModule, address: Address, signal: AbortSignal) {
    this.#origin = address.origin
    this.#signal = signal
    this.#client = module.createClient({
      url: address.origin,
      username: address.username,
      password: address.password,
      application: 'vitrina',
      request_timeout: REQUEST_TIMEOUT_MS,
      clickhouse_settings: SETTINGS,
      // The client logs errors by itself; here they are thrown.
      log: { level: 127 },
    })
  }

  get origin(): string {
    return this.#origin
  }

  async command(statement: Statement): Promise<void> {
    await this.#again(statement, () => this.#command(statement.sql))
  }

  /** Not sent again by itself: for what must not be done twice. */
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

  /** Sends lines in TabSeparated. What the server says of it goes on as it is: the writer looks at it first. */
  async insert(into: string, body: string, name: string): Promise<void> {
    // Counted over the attempt: a batch may write rows and remove others, and the server must not take one for the other.
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
    await this.#patiently(send)
  }

  async close(): Promise<void> {
    await this.#client.close()
  }

  error(error: unknown, doing: string): unknown {
    // What the holder was told matters, not how the request noticed.
    if (this.#signal.aborted) return this.#signal.reason
    return sinkError(error, doing, this.#origin)
  }

  async #again<T>(statement: Statement, request: () => Promise<T>): Promise<T> {
    return this.#patiently(request).catch((error) => {
      throw this.error(error, statement.doing)
    })
  }

  /** Sent again only when the server asked for it or was not reached; the token makes a lost answer harmless. */
  async #patiently<T>(request: () => Promise<T>): Promise<T> {
    for (const waitMs of WAITS_MS) {
      try {
        return await request()
      } catch (error) {
        if (!mayPass(error) || this.#signal.aborted) throw error
        await delay(waitMs, undefined, { signal: this.#signal })
      }
    }
    return request()
  }
}

/** Null when it is not installed. */
export async function findClient(load: () => Promise<ClientModule>): Promise<ClientModule | null> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  }
}

const OLDEST = [24, 8] as const

/** The version, or why this server cannot be used. */
export async function requireVersion(server: Server): Promise<string> {
  const [row] = await server.rows({ sql: 'SELECT version()', doing: 'Asking for the version' })
  const version = row?.[0] ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return version
  throw new VitrinaError(
    'SINK_REFUSED',
    `ClickHouse at ${server.origin} is version ${version || 'unknown'}; ${OLDEST.join('.')} is the oldest that is supported.`,
    'Update the server.',
  )
}
