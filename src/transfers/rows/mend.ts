import { addRows } from '../../model/run.js'
import type { MetaSession } from '../../ports/run-queue.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import { readLines } from '../../sources/postgres/lines.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier, quoteLiteral } from '../../sql/identifiers.js'
import { RowBatch } from '../../sql/row-batch.js'
import { asRelation, type Column, columnList } from '../../sql/selection.js'
import type { Moved } from '../batch.js'
import type { KeyTexts } from '../mend.js'
import { keysOf, type SweepParts } from './sweep.js'

interface MendParts extends SweepParts {
  readonly keyColumns: readonly Column[]
  readonly keys: readonly KeyTexts[]
  /** Rows of the mart with these keys go when the source has none. */
  readonly removeAbsent: boolean
  readonly settle: (first: number, count: number, meta: MetaSession | null) => Promise<void>
}

const MOST_KEYS = 1_000

/** Brings some rows of the mart into line with the source. See Mend, which does the same inside a database. */
export class RowsMend implements Step {
  readonly name: string
  readonly #parts: MendParts
  #next = 0

  constructor(name: 'repair' | 'replay', parts: MendParts) {
    this.name = name
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { keys, batches } = this.#parts
    const first = this.#next
    const portion = keys.slice(first, first + Math.min(limit, MOST_KEYS))
    if (portion.length === 0) return null
    const done = await batches.run(this.name, (number) => this.#mend(portion, first, number))
    this.#next = first + portion.length
    return done
  }

  async #mend(portion: readonly KeyTexts[], first: number, number: number): Promise<Moved> {
    const { chain, mart, idOf, batches, removeAbsent, settle } = this.#parts
    const { rows, absent } = await this.#read(portion)
    const ready = chain === null ? rows : await chain.run(rows)
    const written = await mart.write(ready, idOf(number))
    const gone = removeAbsent ? [...absent, ...this.#dropped(rows, ready)] : []
    const removed = gone.length === 0 ? null : await mart.remove(gone, idOf(number), 1)
    const text = (key: KeyTexts | undefined) => key?.join(', ') ?? null
    return {
      ...batches.state,
      refused: written.refused,
      marks: [...written.marks, ...(removed?.marks ?? [])],
      settle: (meta) => settle(first, portion.length, meta),
      rows: {
        ...(removed === null ? written.rows : addRows(written.rows, removed.rows)),
        read: rows.count,
      },
      firstKey: text(portion[0]),
      lastKey: text(portion.at(-1)),
    }
  }

  /** The rows behind the keys, and those keys that have none. Each row comes with the place of its key. */
  async #read(portion: readonly KeyTexts[]): Promise<{ rows: RowBatch; absent: TextValues[] }> {
    const { source, query, columns, keyColumns } = this.#parts
    const asked = portion.map(
      (key, place) =>
        `(${[place, ...key.map((text, n) => `${text === null ? 'NULL' : quoteLiteral(text)}::${keyColumns[n]!.type}`)].join(', ')})`,
    )
    // A key with a NULL can be found, but not along an index.
    const equals = portion.some((key) => key.includes(null)) ? 'IS NOT DISTINCT FROM' : '='
    const same = keyColumns.map((column, n) => `source.${quoteIdentifier(column.name)} ${equals} asked.k${n}`)
    const found = await readLines(
      source,
      `SELECT asked.n, ${columnList(columns, 'source.')} FROM (VALUES ${asked.join(', ')}) AS asked (n, ${keyColumns.map((_, n) => `k${n}`).join(', ')}) JOIN ${asRelation(query)} ON ${same.join(' AND ')}`,
    )
    const places = new Set(found.rows.map(([place]) => Number(place)))
    return {
      rows: RowBatch.ofRows(found.rows.map(([, ...row]) => row)),
      absent: portion.filter((_, place) => !places.has(place)),
    }
  }

  /** Rows that the source has and the transforms no longer let through. */
  #dropped(rows: RowBatch, ready: RowBatch): TextValues[] {
    const { chain, columns, key } = this.#parts
    if (chain === null) return []
    const kept = new Set(keysOf(ready.rows, chain.columns, key).map((found) => JSON.stringify(found)))
    return keysOf(rows.rows, columns, key).filter((found) => !kept.has(JSON.stringify(found)))
  }
}
