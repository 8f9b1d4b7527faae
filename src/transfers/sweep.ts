import { failpoint } from '../model/failpoints.js'
import { NO_ROWS } from '../model/run.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import { committedBy } from '../sources/postgres/changes.js'
import { asRelation, columnList } from '../sql/selection.js'
import { deleteAbsent, type WholeParts } from './replace.js'

/**
 * Removes rows that the source no longer has: its keys are read once, and what is missing among them goes. For rows that
 * each come from one row of the source; where several make one, everything is computed again (see isSpread).
 */
export class Sweep implements Step {
  readonly name = 'sweep'
  readonly #parts: WholeParts
  #done = false

  constructor(parts: WholeParts) {
    this.#parts = parts
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    const { query, columns, table, target, mover, batches, read } = this.#parts
    const keys = columns.filter((column) => table.key.includes(column.name))
    await target.run('DROP TABLE IF EXISTS pg_temp.vitrina_keys')
    // Before the keys are read: what is older than this and stays was among them.
    const mart = await committedBy(target)
    await mover
      .collect(`SELECT ${columnList(keys)} FROM ${asRelation(query)}`, 'vitrina_keys', keys)
      .catch((error) => {
        throw databaseError(error, 'Reading the keys of the source', 'source')
      })
    await target.run('ANALYZE pg_temp.vitrina_keys')
    return batches.run(this.name, async () => {
      const deleted = await deleteAbsent(this.#parts, 'pg_temp.vitrina_keys', null)
      failpoint('sweep.deleted')
      const { state } = batches
      const swept = mart === null || read === null ? {} : { swept: { mart, fingerprint: read.fingerprint } }
      const position = { ...state.position, ...swept }
      return { rows: { ...NO_ROWS, deleted }, firstKey: null, lastKey: null, ...state, position, ends: true }
    })
  }
}
