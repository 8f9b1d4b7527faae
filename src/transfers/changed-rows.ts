import { NO_ROWS } from '../model/run.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import type { SweepFrom } from '../sources/postgres/changes.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { deleteAbsent, type WholeParts } from './replace.js'

interface ChangedParts extends WholeParts {
  readonly source: Session
  /** The keys behind new row versions, as a query on the source. */
  readonly changedKeys: string
  readonly key: readonly Column[]
  /** Where the next sweep begins: taken before this one reads anything. */
  readonly next: SweepFrom
}

/**
 * Recomputes the rows behind every new row version with the pipeline's own query: what it finds is upserted, what it
 * no longer finds is deleted. It needs no key that moves, sees late commits, application clocks and NULL keys alike;
 * an aggregate is right because whole groups are recomputed.
 */
export class ChangedRows implements Step {
  readonly name = 'changed'
  readonly #parts: ChangedParts
  #done = false

  constructor(parts: ChangedParts) {
    this.#parts = parts
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    await this.#collect().catch((error) => {
      throw databaseError(error, 'Reading the changed rows', 'source')
    })
    const { batches, columns, writer, next } = this.#parts
    return batches.run(this.name, async () => {
      const deleted = await deleteAbsent(this.#parts, 'pg_temp.vitrina_pass', 'pg_temp.vitrina_keys')
      const written = await writer.write(`SELECT ${columnList(columns)} FROM pg_temp.vitrina_pass`)
      const { key, id, position } = batches.state
      return {
        rows: { ...NO_ROWS, ...written.rows, deleted },
        refused: written.refused,
        firstKey: null,
        lastKey: null,
        key,
        id,
        position: { ...position, xmin: next },
        ends: true,
      }
    })
  }

  /** Keys and rows out of one snapshot: a key that changes between the two would look deleted. */
  async #collect(): Promise<void> {
    const { source, target, mover, query, columns, key, changedKeys } = this.#parts
    await target.run('DROP TABLE IF EXISTS pg_temp.vitrina_keys, pg_temp.vitrina_pass')
    await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const keys = `(${changedKeys}) AS changed (${columnList(key)})`
    // A foreign key may have a wider type than the key that it leads to.
    const typed = key.map(({ name, type }) => `${quoteIdentifier(name)}::${type}`).join(', ')
    await mover.collect(`SELECT ${typed} FROM ${keys}`, 'vitrina_keys', key)
    await mover.collect(
      `SELECT ${columnList(columns)} FROM ${asRelation(query)} WHERE (${columnList(key)}) IN (SELECT ${columnList(key)} FROM ${keys}) ORDER BY ${columnList(key)}`,
      'vitrina_pass',
      columns,
    )
    await source.run('COMMIT')
    await target.run('ANALYZE pg_temp.vitrina_keys; ANALYZE pg_temp.vitrina_pass')
  }
}
