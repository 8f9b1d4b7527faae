import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { CopyWriter } from './copy-writer.js'
import { CINEMA_TABLES, type CinemaTable, TABLE_NAMES, type TableCounts } from './schema.js'
import { withoutIndexes } from './without-indexes.js'

/** The rows of one table. Item n becomes none, one or several rows. */
export interface TableRows {
  table: CinemaTable
  items: number
  write(n: number, to: CopyWriter): void
}

/** Progress of a table in items: rows, or films where a film has several rows. */
export interface LoadProgress {
  table: CinemaTable
  done: number
  of: number
}

export interface LoadOptions {
  onProgress?: ((progress: LoadProgress) => void) | undefined
  signal?: AbortSignal | undefined
}

/** From this size on, building an index at the end is cheaper than growing it row by row. */
const MANY_ITEMS = 20_000

/**
 * Runs `work` exclusively and in one transaction: two concurrent loads would see the same empty tables, and an aborted
 * one must not leave films without their people.
 */
export async function inOneLoad<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('vitrina.cinema'))`)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    // A lost connection has already rolled back, and the first error is the one to report.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Copies set after set into its table, and counts the rows that PostgreSQL accepted. */
export async function loadCinema(
  client: Client,
  sets: TableRows[],
  options: LoadOptions = {},
): Promise<TableCounts> {
  const counts = Object.fromEntries(TABLE_NAMES.map((table) => [table, 0])) as TableCounts
  for (const rows of sets) {
    const copy = () => copyTable(client, rows, options)
    const fast = rows.items >= MANY_ITEMS && (await isEmpty(client, rows.table))
    counts[rows.table] += fast ? await withoutIndexes(client, rows.table, copy) : await copy()
  }
  return counts
}

/** Without this the planner guesses until autovacuum runs, and the first marts get slow plans. */
export async function analyzeCinema(client: Client): Promise<void> {
  await client.query(`ANALYZE ${TABLE_NAMES.join(', ')}`)
}

export async function isEmpty(client: Client, table: CinemaTable): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT FROM ${table} LIMIT 1`)
  return rowCount === 0
}

async function copyTable(client: Client, rows: TableRows, options: LoadOptions): Promise<number> {
  const columns = CINEMA_TABLES[rows.table].join(', ')
  const copy = client.query(copyFrom(`COPY ${rows.table} (${columns}) FROM STDIN WITH (FORMAT binary)`))
  await pipeline(Readable.from(chunks(rows, options.onProgress)), copy, { signal: options.signal })
  return copy.rowCount
}

function* chunks(
  { table, items, write }: TableRows,
  onProgress: LoadOptions['onProgress'],
): Generator<Buffer> {
  const writer = new CopyWriter(CINEMA_TABLES[table].length)
  for (let n = 0; n < items; n++) {
    write(n, writer)
    if (!writer.full) continue
    yield writer.takeChunk()
    onProgress?.({ table, done: n + 1, of: items })
  }
  yield writer.end()
  onProgress?.({ table, done: items, of: items })
}
