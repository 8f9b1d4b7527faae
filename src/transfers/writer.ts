import type { Phase } from '../model/claim.js'
import { cutText } from '../model/cut-text.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { keyText } from '../model/quarantine.js'
import { addRows, NO_ROWS, type RefusedRow, type RowCounts } from '../model/run.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { insertSql, merge, upsertSql } from '../sinks/postgres/merge.js'
import type { Target } from '../sinks/postgres/target.js'
import { quoteIdentifier, quoteList } from '../sql/identifiers.js'
import { columnList } from '../sql/selection.js'
import { isPoison, sqlstateOf } from '../sql/sqlstate.js'
import { batchError } from './batch.js'
import type { Bringer } from './mover.js'

/** PostgreSQL may quote a value of any size. */
const MOST_REASON = 4_000

export interface Written {
  readonly rows: RowCounts
  readonly refused: readonly RefusedRow[]
  /** Set where bringing the rows is reading the source. */
  readonly read?: Phase
}

/** How rows are put into the mart. It begins with the fastest way and falls back when the data says that it must. */
type Manner =
  /** The mart was empty when the pass began: rows go in without looking for conflicts. */
  | 'fill'
  /** Insert or update by key. */
  | 'upsert'
  /** The batch held a key twice: the row that comes last wins, the others are counted. */
  | 'newest'
  /** A row was refused: the batch is halved until the refused rows stand alone. */
  | 'sift'

function fallback(manner: Manner, error: unknown): Manner | null {
  const state = sqlstateOf(error)
  if (manner === 'fill' && state === '23505') return 'upsert'
  if (manner === 'upsert' && state === '21000') return 'newest'
  return manner !== 'sift' && isPoison(error) ? 'sift' : null
}

/** `Rows` is what names the rows of a batch: a selection, or the rows themselves. */
export class MartWriter<Rows = string> {
  readonly #session: Session
  readonly #target: Target
  readonly #mover: Bringer<Rows>
  readonly #quarantineLimit: number
  /** Columns that tell which of two rows with one key came last. */
  readonly #newestBy: readonly string[]
  #manner: Manner
  #refusedSoFar: number

  constructor(options: {
    session: Session
    target: Target
    mover: Bringer<Rows>
    newestBy: readonly string[]
    quarantineLimit: number
    empty: boolean
    refusedSoFar: number
  }) {
    this.#session = options.session
    this.#target = options.target
    this.#mover = options.mover
    this.#newestBy = options.newestBy
    this.#quarantineLimit = options.quarantineLimit
    this.#manner = options.empty ? 'fill' : 'upsert'
    this.#refusedSoFar = options.refusedSoFar
  }

  /** Writes the rows inside the current transaction. */
  async write(rows: Rows): Promise<Written> {
    for (let manner: Manner = this.#manner; ; ) {
      // Never released: what follows in the batch, history and checkpoint, is to have the number that the rows have. A
      // comparison recognises the pipeline's own rows by that.
      await this.#session.run('SAVEPOINT write')
      try {
        const written = await this.#attempt(manner, rows)
        failpoint('batch.merged')
        return written
      } catch (error) {
        const next = fallback(manner, error)
        if (next === null) throw error instanceof VitrinaError ? error : batchError(error)
        await this.#session.run('ROLLBACK TO write')
        manner = next
        // Refused rows are the matter of one batch; an empty mart or unique keys are not to be hoped for again.
        if (next !== 'sift') this.#manner = next
      }
    }
  }

  async #attempt(manner: Manner, rows: Rows): Promise<Written> {
    if (manner === 'fill') {
      const filled = await this.#mover.fill(rows)
      if (filled !== null) return { rows: { ...NO_ROWS, read: filled, inserted: filled }, refused: [] }
    }
    const from = performance.now()
    const relation = await this.#mover.bring(rows)
    const read: Phase = { name: 'read', from, to: performance.now() }
    failpoint('batch.staged')
    const written = await this.#apply(manner, relation)
    return this.#mover.isReading === true ? { ...written, read } : written
  }

  async #apply(manner: Manner, relation: string): Promise<Written> {
    if (manner === 'fill') {
      const inserted = await this.#session.count(insertSql(this.#target, relation))
      return { rows: { ...NO_ROWS, read: inserted, inserted }, refused: [] }
    }
    if (manner === 'sift') return this.#sift(relation)
    return { rows: await this.#upsert(relation, manner === 'newest'), refused: [] }
  }

  async #upsert(relation: string, keysRepeat: boolean): Promise<RowCounts> {
    const merged = await merge(
      this.#session,
      upsertSql(this.#target, relation, keysRepeat ? this.#newestBy : null),
    )
    const { read, inserted, updated } = merged
    const counted = keysRepeat ? await this.#count(relation) : null
    const duplicates = counted === null ? 0 : counted.rows - counted.keys
    return {
      ...NO_ROWS,
      read: read + duplicates,
      inserted,
      updated,
      unchanged: read - inserted - updated,
      duplicates,
    }
  }

  async #count(relation: string): Promise<{ rows: number; keys: number }> {
    const key = quoteList(this.#target.key)
    const [row] = await this.#session.rows(
      `SELECT coalesce(sum(n), 0) AS rows, count(*) AS keys FROM (SELECT count(*) AS n FROM ${relation} GROUP BY ${key}) AS keys`,
    )
    return { rows: Number(row!.rows), keys: Number(row!.keys) }
  }

  /** Writes what can be written and sets the rest apart. Numbered rows, so that a half is a range. */
  async #sift(relation: string): Promise<Written> {
    await this.#session.run('DROP TABLE IF EXISTS pg_temp.vitrina_sift')
    const total = await this.#session.count(this.#numberedSql(relation)).catch((error: unknown) => {
      throw databaseError(error, 'The source query fails on a row', 'source')
    })
    const [kept] = await this.#session.rows(
      'SELECT count(*) AS n FROM pg_temp.vitrina_sift WHERE NOT vitrina_superseded',
    )
    const refused: RefusedRow[] = []
    const rows = await this.#siftRange(1, Number(kept!.n), refused)
    await this.#session.run('DROP TABLE pg_temp.vitrina_sift')
    return {
      rows: { ...rows, quarantined: refused.length, read: total, duplicates: total - Number(kept!.n) },
      refused,
    }
  }

  /** Superseded rows get the last numbers. A row without a key supersedes none: it has to be refused by itself. */
  #numberedSql(relation: string): string {
    const key = quoteList(this.#target.key)
    const newest =
      this.#newestBy.length === 0
        ? ''
        : ` ORDER BY ${this.#newestBy.map((column) => `${quoteIdentifier(column)} DESC`).join(', ')}`
    return `CREATE TEMP TABLE vitrina_sift AS SELECT row_number() OVER (ORDER BY vitrina_superseded) AS vitrina_n, numbered.*
      FROM (SELECT batch.*, row_number() OVER (PARTITION BY ${key}${newest}) > 1 AND ROW(${key}) IS NOT NULL AS vitrina_superseded
              FROM ${relation.replace(/ AS batch$/, '')} AS batch) AS numbered`
  }

  async #siftRange(first: number, last: number, refused: RefusedRow[]): Promise<RowCounts> {
    if (first > last) return NO_ROWS
    await this.#session.run('SAVEPOINT half')
    try {
      const relation = `(SELECT * FROM pg_temp.vitrina_sift WHERE vitrina_n BETWEEN ${first} AND ${last}) AS batch`
      const rows = await this.#upsert(relation, false)
      await this.#session.run('RELEASE half')
      return rows
    } catch (error) {
      if (!isPoison(error)) throw error
      await this.#session.run('ROLLBACK TO half; RELEASE half')
      if (first === last) {
        refused.push(await this.#refuse(first, error))
        return NO_ROWS
      }
    }
    const middle = Math.floor((first + last) / 2)
    const left = await this.#siftRange(first, middle, refused)
    const right = await this.#siftRange(middle + 1, last, refused)
    return addRows(left, right)
  }

  async #refuse(number: number, error: unknown): Promise<RefusedRow> {
    const texts = this.#target.columns.map(
      (column, index) => `${quoteIdentifier(column.name)}::text AS c${index}`,
    )
    const [row] = await this.#session.rows(
      `SELECT ${texts.join(', ')} FROM pg_temp.vitrina_sift WHERE vitrina_n = ${number}`,
    )
    const values = this.#target.columns.map((_, index) => row![`c${index}`] ?? null)
    const key = keyText(
      this.#target.key.map(
        (name) => values[this.#target.columns.findIndex((column) => column.name === name)] ?? null,
      ),
      values,
    )
    const reason = cutText((error as Error).message, MOST_REASON)
    this.#refusedSoFar += 1
    if (this.#refusedSoFar > this.#quarantineLimit) {
      throw new VitrinaError(
        'ROWS_REFUSED',
        `${this.#target.name.schema}.${this.#target.name.table} refused ${this.#refusedSoFar} rows of this run, more than quarantine_limit allows (${this.#quarantineLimit}); the last one has the key (${key}): ${reason}.`,
        `Compare the columns (${columnList(this.#target.columns)}) with the table's constraints, or raise quarantine_limit.`,
        { cause: error, sqlstate: sqlstateOf(error) ?? 'XX000' },
      )
    }
    return {
      key,
      columns: this.#target.columns.map((column) => column.name),
      texts: values,
      reason,
      sqlstate: sqlstateOf(error),
    }
  }
}
