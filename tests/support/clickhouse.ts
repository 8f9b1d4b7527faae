import { fileURLToPath } from 'node:url'
import { beforeEach } from 'vitest'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import { spawnProgram } from './processes.js'

const FRONT = fileURLToPath(new URL('clickhouse-front.mjs', import.meta.url))

export interface StatementFault {
  /** The statement that it waits for. */
  readonly pattern: string
  readonly times: number
  /** The error of the server, and its name. */
  readonly code?: number
  readonly type?: string
  /** It is executed, but the response is lost. */
  readonly lose?: boolean
}

/** The engine of ClickHouse behind our own small HTTP front; each test creates its own database. */
export interface TestClickHouse {
  /** With user and password. */
  readonly url: string
  rows(sql: string): Promise<string[][]>
  fail(...faults: StatementFault[]): Promise<void>
  /** The requests since the last call. */
  requests(): Promise<{ sql: string; settings: Record<string, string> }[]>
}

/**
 * For one file: `const clickhouse = await aClickHouse()` at its top. If the engine is not available, every test of
 * the file is skipped, with the reason.
 */
export async function aClickHouse(): Promise<TestClickHouse> {
  const found = await findTool('clickhouse')
  if ('missing' in found) {
    beforeEach((context) => context.skip(found.missing))
    return unreachable(found.missing)
  }
  const front = spawnProgram([process.execPath, FRONT, found.folder], {})
  const [, port] = await front.waitForOutput(/listening on (\d+)/)
  return new Front(`127.0.0.1:${port}`)
}

class Front implements TestClickHouse {
  readonly url: string
  readonly #origin: string

  constructor(host: string) {
    this.url = `http://etl:a%20secret@${host}`
    this.#origin = `http://${host}`
  }

  async rows(sql: string): Promise<string[][]> {
    const text = await this.#post('/', sql)
    return text === ''
      ? []
      : text
          .slice(0, -1)
          .split('\n')
          .map((line) => line.split('\t'))
  }

  async fail(...faults: StatementFault[]): Promise<void> {
    await this.#post('/faults', JSON.stringify(faults))
  }

  async requests(): Promise<{ sql: string; settings: Record<string, string> }[]> {
    return JSON.parse(await this.#post('/requests', ''))
  }

  async #post(path: string, body: string): Promise<string> {
    const authorization = `Basic ${Buffer.from('etl:a secret').toString('base64')}`
    const response = await fetch(this.#origin + path, { method: 'POST', body, headers: { authorization } })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
}

function unreachable(reason: string): TestClickHouse {
  const refuse = async () => {
    throw new Error(reason)
  }
  return { url: 'http://127.0.0.1:1', rows: refuse, fail: refuse, requests: refuse }
}
