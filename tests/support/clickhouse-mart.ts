import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { readTable } from '../../src/config/settings.js'
import type { BatchId, Examination, Sink, SinkKind } from '../../src/ports/sink.js'
import { clickhouse as module } from '../../src/sinks/clickhouse/index.js'
import type { TextValues } from '../../src/sql/copy-text.js'
import { RowBatch } from '../../src/sql/row-batch.js'
import type { Column } from '../../src/sql/selection.js'
import type { TestClickHouse } from './clickhouse.js'

export interface ClickHouseMartOptions {
  /** Name and PostgreSQL type; a trailing `!` means NOT NULL. */
  readonly columns?: Readonly<Record<string, string>>
  readonly key?: readonly string[]
  readonly options?: Readonly<Record<string, unknown>>
  readonly brake?: number
}

/** A mart in its own database. */
export interface TestClickHouseMart {
  readonly database: string
  /** The sink of one attempt; closed with the test. */
  open(changes?: ClickHouseMartOptions & { signal?: AbortSignal }): Promise<Sink>
  /** As people read it. */
  read(what?: string): Promise<string[][]>
}

export function kindFor(server: TestClickHouse, changes: Record<string, string> = {}): SinkKind {
  const environment = { CLICKHOUSE_URL: server.url, ...changes }
  return module.create(readTable(module.settings, environment))
}

const COLUMNS = { id: 'bigint', title: 'text' }

export function aClickHouseMart(
  server: TestClickHouse,
  options: ClickHouseMartOptions = {},
): TestClickHouseMart {
  const database = `test_${randomBytes(4).toString('hex')}`
  const kind = kindFor(server)
  const open: TestClickHouseMart['open'] = async ({
    signal = new AbortController().signal,
    ...changes
  } = {}) => {
    const { columns = COLUMNS, key = ['id'], brake = 1, options: raw = {} } = { ...options, ...changes }
    const read = kind.readOptions(raw)
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    const sink = await kind.open({
      name: `${database}.mart`,
      columns: martColumns(columns),
      key,
      options: read.options,
      brake,
      signal,
    })
    onTestFinished(() => sink.close())
    return sink
  }
  const read = (what = '*') => server.rows(`SELECT ${what} FROM ${database}.mart ORDER BY ALL`)
  return { database, open, read }
}

export function martColumns(columns: Readonly<Record<string, string>>): Column[] {
  return Object.entries(columns).map(([name, type]) => ({
    name,
    type: type.replace('!', ''),
    typeOid: 0,
    base: null,
    notNull: type.endsWith('!'),
  }))
}

export const rowsOf = (...rows: TextValues[]) => RowBatch.ofRows(rows)

const PIPELINE = '11111111-1111-1111-1111-111111111111'
const RUN = 'aaaaaaaa-0000-4000-8000-000000000001'

export function batch(fence: number, number: number, changes: Partial<BatchId> = {}): BatchId {
  return { pipelineId: PIPELINE, runId: RUN, fence, number, ...changes }
}

/** Every row as `digests` returns it, key → digest. */
export async function digestsOf(sink: Sink): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for await (const portion of sink.digests())
    for (const { key, digest } of portion) found.set(key.join('|'), digest)
  return found
}

export const messagesOf = (findings: Examination['errors']) => findings.map(({ message }) => message)
