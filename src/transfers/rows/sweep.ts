import type { BatchDone, Step } from '../../ports/transfer.js'
import { committedBy } from '../../sources/postgres/changes.js'
import { readPortions } from '../../sources/postgres/lines.js'
import type { TextValues } from '../../sql/copy-text.js'
import { asRelation, type Column, columnList } from '../../sql/selection.js'
import type { RowsParts } from './pass.js'

export interface SweepParts extends RowsParts {
  readonly query: string
  /** What the query returns. */
  readonly columns: readonly Column[]
  readonly key: readonly string[]
}

/** Removes rows that the source no longer has, or that the transforms no longer make of it. */
export class RowsSweep implements Step {
  readonly name = 'sweep'
  readonly #parts: SweepParts
  #done = false

  constructor(parts: SweepParts) {
    this.#parts = parts
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    const { batches, mart, session, read, idOf } = this.#parts
    // Before the keys are read: what is older than this and stays was among them.
    const moment = await committedBy(session)
    const swept =
      moment === null || read === null ? {} : { swept: { mart: moment, fingerprint: read.fingerprint } }
    return batches.run(this.name, async (number) => {
      const change = await mart.removeAbsent(this.#keys(), idOf(number), batches.unpublished)
      const { state } = batches
      const position = { ...state.position, ...swept }
      return { ...state, ...change, position, firstKey: null, lastKey: null, ends: true }
    })
  }

  async *#keys(): AsyncGenerator<readonly TextValues[]> {
    const { source, query, columns, key, chain } = this.#parts
    const read = chain === null ? key.map((name) => ({ name })) : columns
    for await (const batch of readPortions(source, `SELECT ${columnList(read)} FROM ${asRelation(query)}`))
      yield keysOf(chain === null ? batch.rows : (await chain.run(batch)).rows, chain?.columns ?? read, key)
  }
}

/** The key of each row. */
export function keysOf(
  rows: readonly TextValues[],
  columns: readonly { readonly name: string }[],
  key: readonly string[],
): TextValues[] {
  const places = key.map((name) => columns.findIndex((column) => column.name === name))
  return rows.map((row) => places.map((place) => row[place] ?? null))
}
