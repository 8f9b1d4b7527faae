import type { Position } from '../checkpoints/checkpoint.js'
import { requireBelowBrake } from '../model/brake.js'
import { failpoint } from '../model/failpoints.js'
import type { RowCounts } from '../model/run.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { absentFrom } from '../sinks/postgres/merge.js'
import type { Target } from '../sinks/postgres/target.js'
import { quoteList } from '../sql/identifiers.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { type BatchRunner, type Moved, withNumber } from './batch.js'
import type { Mover } from './mover.js'
import type { MartWriter } from './writer.js'

export interface WholeParts {
  readonly query: string
  readonly columns: readonly Column[]
  readonly table: Target
  readonly target: Session
  readonly mover: Mover
  readonly writer: MartWriter
  readonly batches: BatchRunner
  /** Share of the mart that one run may remove. */
  readonly brake: number
  /** What a comparison has to know of a pass over everything that began with this run; null: it cannot be told. */
  readonly read: Required<Position>['read'] | null
}

/**
 * Deletes rows of the mart that `kept` does not hold, and stops before it removes more than the brake allows: an empty
 * source is more often a mistake upstream than the wish for an empty mart.
 */
export async function deleteAbsent(
  parts: Pick<WholeParts, 'target' | 'table' | 'brake'>,
  kept: string,
  among: string | null,
): Promise<number> {
  const { target, table, brake } = parts
  const [size] = await target.rows(`SELECT count(*) AS n FROM ${table.quoted}`)
  const condition = [
    absentFrom(table, kept),
    ...(among === null ? [] : [`NOT ${absentFrom(table, among)}`]),
  ].join(' AND ')
  const deleted = await target.count(`DELETE FROM ${table.quoted} AS mart WHERE ${condition}`)
  requireBelowBrake(`${table.name.schema}.${table.name.table}`, deleted, Number(size!.n), brake)
  return deleted
}

/**
 * The whole mart in one transaction: the new rows are gathered beside it, then only the difference is applied.
 * Readers see the old mart or the new one, whatever their isolation level; views, grants and indexes stay.
 * (TRUNCATE + INSERT shows older snapshots zero rows; a rename loses views and grants.)
 */
export class Replace implements Step {
  readonly name: string
  readonly #parts: WholeParts
  #done = false

  constructor(name: 'replace' | 'sweep', parts: WholeParts) {
    this.name = name
    this.#parts = parts
  }

  async next(): Promise<BatchDone | null> {
    if (this.#done) return null
    this.#done = true
    const { query, columns, target, mover, batches, table } = this.#parts
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${quoteList(table.key)}`
    await target.run('DROP TABLE IF EXISTS pg_temp.vitrina_pass')
    await mover.collect(selection, 'vitrina_pass', columns).catch((error) => {
      throw databaseError(error, 'Reading the source', 'source')
    })
    await target.run('ANALYZE pg_temp.vitrina_pass')
    failpoint('pass.collected')
    return batches.run(this.name, () => this.#exchange())
  }

  async #exchange(): Promise<Moved> {
    const { columns, target, writer, batches, read } = this.#parts
    const deleted = await deleteAbsent(this.#parts, 'pg_temp.vitrina_pass', null)
    const written = await writer.write(`SELECT ${columnList(columns)} FROM pg_temp.vitrina_pass`)
    failpoint('replace.merged')
    const counts: RowCounts = { ...written.rows, deleted }
    const { pass: _pass, ...rest } = batches.state.position
    const swept = read === null ? {} : { read, swept: { mart: read.mart, fingerprint: read.fingerprint } }
    const position = await withNumber(target, { ...rest, ...swept }, true)
    return {
      ...batches.state,
      rows: counts,
      refused: written.refused,
      firstKey: null,
      lastKey: null,
      position,
      ends: true,
    }
  }
}
