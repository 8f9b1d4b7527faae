import { NO_ROWS } from '../../model/run.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import { databaseError } from '../../postgres/errors.js'
import type { SweepFrom } from '../../sources/postgres/changes.js'
import { linesOf, readLines } from '../../sources/postgres/lines.js'
import type { TextValues } from '../../sql/copy-text.js'
import { asRelation, type Column, columnList } from '../../sql/selection.js'
import type { Moved } from '../batch.js'
import { Preparation, type ReadyBatch } from './pass.js'
import { SpoolReader } from './reader.js'
import { Spool } from './spool.js'
import { keysOf, type SweepParts } from './sweep.js'

interface ChangedParts extends SweepParts {
  /** The keys behind new row versions, as a query on the source. */
  readonly changedKeys: string
  readonly keyColumns: readonly Column[]
  /** Where the next sweep begins: taken before this one reads anything. */
  readonly next: SweepFrom
  readonly brake: number
}

/** The same as ChangedRows, for rows that pass through here: recomputed rows are written, keys without a row removed. */
export class RowsChanged implements Step {
  readonly name = 'changed'
  readonly #parts: ChangedParts
  #work: { readonly absent: Map<string, TextValues>; readonly preparation: Preparation } | null = null
  #done = false

  constructor(parts: ChangedParts) {
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { batches } = this.#parts
    this.#work ??= await this.#collect().catch((error) => {
      throw databaseError(error, 'Reading the changed rows', 'source')
    })
    const batch = await this.#work.preparation.next(limit)
    if (batch !== null) return batches.run(this.name, (number) => this.#write(batch, number), batch.phases)
    this.#done = true
    return batches.run(this.name, (number) => this.#end(number))
  }

  async close(): Promise<void> {
    await this.#work?.preparation.close()
  }

  async #write(batch: ReadyBatch, number: number): Promise<Moved> {
    const { batches, mart, idOf, chain, columns, key } = this.#parts
    const change = await mart.write(batch.ready, idOf(number))
    for (const found of keysOf(batch.ready.rows, chain?.columns ?? columns, key))
      this.#work!.absent.delete(JSON.stringify(found))
    return {
      ...batches.state,
      ...change,
      rows: { ...change.rows, read: batch.rows.count },
      firstKey: null,
      lastKey: null,
    }
  }

  async #end(number: number): Promise<Moved> {
    const { batches, mart, idOf, next, brake } = this.#parts
    const absent = [...this.#work!.absent.values()]
    const change =
      absent.length === 0
        ? { rows: NO_ROWS, refused: [], marks: [] }
        : await mart.remove(absent, idOf(number), brake)
    const { key, id, position } = batches.state
    return {
      ...change,
      key,
      id,
      position: { ...position, xmin: next },
      firstKey: null,
      lastKey: null,
      ends: true,
    }
  }

  /** Keys and rows out of one snapshot: a key that changes between the two would look deleted. */
  async #collect(): Promise<{ absent: Map<string, TextValues>; preparation: Preparation }> {
    const { source, query, columns, keyColumns, changedKeys, chain } = this.#parts
    await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const keys = `(${changedKeys}) AS changed (${columnList(keyColumns)})`
    const changed = await readLines(source, `SELECT ${columnList(keyColumns)} FROM ${keys}`)
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)} WHERE (${columnList(keyColumns)}) IN (SELECT ${columnList(keyColumns)} FROM ${keys}) ORDER BY ${columnList(keyColumns)}`
    const spool = await Spool.of(linesOf(source, selection))
    await source.run('COMMIT')
    return {
      absent: new Map(changed.rows.map((key) => [JSON.stringify(key), key])),
      preparation: new Preparation(new SpoolReader(spool), chain),
    }
  }
}
