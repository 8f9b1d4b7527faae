import type { BatchDone, Step } from '../ports/transfer.js'
import { asRelation, columnList } from '../sql/selection.js'
import { withNumber } from './batch.js'
import type { PassParts } from './pass.js'
import { NO_WATERMARK } from './progression.js'

/** So many rows are written in a few seconds: too few for a pause in between to be missed. */
export const MOST_ROWS_AT_ONCE = 500_000

/**
 * A full pass over a query that cannot be read piecemeal and gives few rows: one batch, one statement, nothing staged.
 * That is what somebody would write by hand; putting the rows aside first cost a quarter more for 200,000 groups.
 */
export class WholePass implements Step {
  readonly name: string
  readonly #parts: PassParts
  #done = false

  constructor(parts: PassParts) {
    this.name = parts.name
    this.#parts = parts
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    const { query, columns, target, writer, batches, progression } = this.#parts
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)}`
    return batches.run(this.name, async () => {
      const written = await writer.write(selection)
      const state = await progression.moved({
        last: null,
        isLast: true,
        watermark: NO_WATERMARK,
        session: target,
        relation: '',
      })
      const position = await withNumber(target, state.position, true)
      return { ...written, ...state, position, firstKey: null, lastKey: null, ends: true }
    })
  }
}
