import { fileURLToPath } from 'node:url'
import { beforeEach } from 'vitest'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import { spawnProgram } from './processes.js'

const FRONT = fileURLToPath(new URL('clickhouse-front.mjs', import.meta.url))

export interface Fault {
  /** The statement that it waits for. */
  readonly pattern: string
  readonly times: number
  /** What the server refuses it with, and how that is called. */
  readonly code?: number
  readonly type?: string
  /** It is done, but nobody is told. */
  readonly lose?: boolean
}

/** The engine of ClickHouse behind a small HTTP front of our own; a database of its own for each test is up to the test. */
export interface TestClickHouse {
  /** With user and password. */
  readonly url: string
  rows(sql: string): Promise<string[][]>
  fail(...faults: Fault[]): Promise<void>
  /** What came in since the last time this was asked. */
  requests(): Promise<{ sql: string; settings: Record<string, string> }[]>
}

/**
 * For one file: `const clickhouse = await aClickHouse()` at its top. Where the engine cannot be had every test of the
 * file is skipped, with the reason.
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

  async fail(...faults: Fault[]): Promise<void> {
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
