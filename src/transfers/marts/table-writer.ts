import {
  CheckFailure,
  failureOf,
  guardedRelation,
  isCheckFailure,
  type RowCheck,
} from '../../checks/index.js'
import { type CheckResult, isFatal } from '../../model/check.js'
import type { Phase } from '../../model/claim.js'
import { failpoint } from '../../model/failpoints.js'
import { NO_ROWS, type RefusedRow, type RowCounts, sumRows } from '../../model/run.js'
import { databaseError } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { insertSql, merge, upsertSql } from '../../sinks/postgres/merge.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { quoteIdentifier, quoteList } from '../../sql/identifiers.js'
import { isPoison, sqlstateOf } from '../../sql/sqlstate.js'
import { batchError } from '../run-batches.js'
import type { MartChange, MartWriter } from './mart.js'
import { NUMBERED, RefusedRows } from './refused-rows.js'
import { RowSieve, type SetAside } from './row-sieve.js'

/** Makes the rows of a portion available in the session of the table. */
export interface RowSource<Rows> {
  /** Called in the transaction of the batch; returns what to write after FROM. */
  provide(rows: Rows): Promise<string>
  /** Writes straight into an empty table and returns the number of rows; null: `provide` is as fast. */
  fill(rows: Rows): Promise<number | null>
  /** The same rows for `fill`, checked where they are read; null, or absent: these checks need the rows in the session. */
  guarded?(rows: Rows, checks: readonly RowCheck[]): Rows | null
  /** `provide` reads the source, so its time counts as reading. */
  readonly isReading?: boolean
}

/** How rows are written: the fastest mode first, and a slower one where the data requires it. */
type TableWriteMode =
  /** The table was empty when the pass began: insert without looking for conflicts. */
  | 'fill'
  /** Insert or update by key. */
  | 'upsert'
  /** The batch contains a key twice: the last row wins, the others are counted. */
  | 'newest'
  /** A row was rejected: the batch is halved until the rejected rows are found. */
  | 'bisect'

function fallback(mode: TableWriteMode, error: unknown): TableWriteMode | null {
  const state = sqlstateOf(error)
  if (mode === 'fill' && state === '23505') return 'upsert'
  if (mode === 'upsert' && state === '21000') return 'newest'
  return mode !== 'bisect' && isPoison(error) ? 'bisect' : null
}

/** What decides how rows are written, apart from the rows and the table. */
export interface TableWriting {
  /** Columns that decide which of two rows with the same key is the newer one. */
  readonly newestBy: readonly string[]
  readonly quarantineLimit: number
  /** The table had no rows when the run was prepared, and the pass starts at its beginning. */
  readonly isEmpty: boolean
  /** Rows that earlier batches of the run have quarantined. */
  readonly refusedSoFar: number
  /** Checks of rows. */
  readonly checks: readonly RowCheck[]
}

interface TableWriterOptions<Rows> extends TableWriting {
  readonly session: Session
  readonly table: TargetTable
  readonly rows: RowSource<Rows>
}

/** Writes portions into a table of PostgreSQL, inside the transaction of their batch. */
export class TableWriter<Rows> implements MartWriter<Rows> {
  readonly #session: Session
  readonly #table: TargetTable
  readonly #rows: RowSource<Rows>
  readonly #newestBy: readonly string[]
  readonly #checks: readonly RowCheck[]
  #mode: TableWriteMode
  readonly #refused: RefusedRows
  /** An earlier batch had rows that failed a check: it is likely that this one has too. */
  #sifts = false

  constructor(options: TableWriterOptions<Rows>) {
    this.#session = options.session
    this.#table = options.table
    this.#rows = options.rows
    this.#newestBy = options.newestBy
    this.#mode = options.isEmpty ? 'fill' : 'upsert'
    this.#refused = new RefusedRows(options)
    this.#checks = options.checks
  }

  async write(rows: Rows): Promise<MartChange> {
    const refusedBefore = this.#refused.count
    let sifts = this.#sifts
    for (let mode: TableWriteMode = this.#mode; ; ) {
      // Never released: history and checkpoint follow with the same transaction id as the rows. A comparison recognizes
      // the pipeline's own rows by it.
      await this.#session.run('SAVEPOINT write')
      try {
        const written = await this.#attempt(mode, rows, sifts)
        failpoint('batch.merged')
        return { ...written, marks: [] }
      } catch (error) {
        const fails = isCheckFailure(error)
        const next = fails ? mode : fallback(mode, error)
        if (next === null) throw batchError(error)
        await this.#session.run('ROLLBACK TO write')
        this.#refused.rewind(refusedBefore)
        mode = next
        if (fails) this.#sifts = true
        // A row that the table rejects may fail a check too, or make a check raise an error.
        sifts ||= (fails || next === 'bisect') && this.#checks.length > 0
        // Rejected rows concern one batch only; a table with rows or repeated keys concern every batch that follows.
        if (next !== 'bisect') this.#mode = next
      }
    }
  }

  async #attempt(mode: TableWriteMode, rows: Rows, sifts: boolean): Promise<WriteOutcome> {
    // Rows that are written straight into the table can only be checked on their way.
    const direct = mode === 'fill' && !sifts ? this.#checkedOnTheWay(rows) : null
    if (direct !== null) {
      const filled = await this.#rows.fill(direct)
      if (filled !== null) return { rows: { ...NO_ROWS, read: filled, inserted: filled }, refused: [] }
    }
    const from = performance.now()
    const relation = await this.#rows.provide(rows)
    const read: Phase = { name: 'read', from, to: performance.now() }
    failpoint('batch.staged')
    const written = sifts
      ? await this.#sifted(mode, relation)
      : await this.#apply(mode, this.#guarded(relation))
    return this.#rows.isReading === true ? { ...written, read } : written
  }

  #guarded(relation: string): string {
    return this.#checks.length === 0 ? relation : guardedRelation(relation, this.#checks, this.#table.key)
  }

  #checkedOnTheWay(rows: Rows): Rows | null {
    if (this.#checks.length === 0) return rows
    return this.#rows.guarded?.(rows, this.#checks) ?? null
  }

  /** Some rows may fail a check: the rows are stored first, so that those that are written are those that were checked. */
  async #sifted(mode: TableWriteMode, relation: string): Promise<WriteOutcome> {
    const { columns, key, name } = this.#table
    const sieve = new RowSieve({ session: this.#session, columns, key, checks: this.#checks })
    const { results, kept, refused } = await sieve.sift(relation)
    const target = `${name.schema}.${name.table}`
    const fatal = results.filter(isFatal)
    if (fatal.length > 0) throw new CheckFailure(failureOf(fatal, target), results)
    const rows = await this.#setAside(refused, results)
    const written = await this.#apply(mode, kept)
    await sieve.close()
    const counts = {
      ...written.rows,
      read: written.rows.read + rows.length,
      quarantined: written.rows.quarantined + rows.length,
    }
    return { ...written, rows: counts, refused: [...rows, ...written.refused], checks: results }
  }

  async #setAside(failing: readonly SetAside[], results: readonly CheckResult[]): Promise<RefusedRow[]> {
    const rows: RefusedRow[] = []
    for (const { number, check } of failing) rows.push(await this.#refused.byCheck(number, check, results))
    return rows
  }

  async #apply(mode: TableWriteMode, relation: string): Promise<WriteOutcome> {
    if (mode === 'fill') {
      const inserted = await this.#session.count(insertSql(this.#table, relation))
      return { rows: { ...NO_ROWS, read: inserted, inserted }, refused: [] }
    }
    if (mode === 'bisect') return this.#bisect(relation)
    return { rows: await this.#upsert(relation, mode === 'newest'), refused: [] }
  }

  async #upsert(relation: string, keysRepeat: boolean): Promise<RowCounts> {
    const merged = await merge(
      this.#session,
      upsertSql(this.#table, relation, keysRepeat ? this.#newestBy : null),
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
    const { rows, keys } = await this.#session.row(countKeysSql(this.#table, relation))
    return { rows: Number(rows), keys: Number(keys) }
  }

  /** Writes every row that the table accepts and returns the others. The rows are numbered, so that a half is a range. */
  async #bisect(relation: string): Promise<WriteOutcome> {
    await this.#session.run(`DROP TABLE IF EXISTS ${NUMBERED}`)
    const total = await this.#session.count(this.#numberedSql(relation)).catch((error: unknown) => {
      throw databaseError(error, 'The source query fails on a row', 'source')
    })
    const { n } = await this.#session.row(
      `SELECT count(*) AS n FROM ${NUMBERED} WHERE NOT vitrina_superseded`,
    )
    const kept = Number(n)
    const refused: RefusedRow[] = []
    const rows = await this.#writeRange(1, kept, refused)
    await this.#session.run(`DROP TABLE ${NUMBERED}`)
    return {
      rows: { ...rows, quarantined: refused.length, read: total, duplicates: total - kept },
      refused,
    }
  }

  /** Superseded rows get the highest numbers. A row with a NULL key supersedes no other: it is rejected on its own. */
  #numberedSql(relation: string): string {
    const key = quoteList(this.#table.key)
    const newest =
      this.#newestBy.length === 0
        ? ''
        : ` ORDER BY ${this.#newestBy.map((column) => `${quoteIdentifier(column)} DESC`).join(', ')}`
    return `CREATE TEMP TABLE vitrina_sift AS SELECT row_number() OVER (ORDER BY vitrina_superseded) AS vitrina_n, numbered.*
      FROM (SELECT batch.*, row_number() OVER (PARTITION BY ${key}${newest}) > 1 AND ROW(${key}) IS NOT NULL AS vitrina_superseded
              FROM ${relation.replace(/ AS batch$/, '')} AS batch) AS numbered`
  }

  async #writeRange(first: number, last: number, refused: RefusedRow[]): Promise<RowCounts> {
    if (first > last) return NO_ROWS
    await this.#session.run('SAVEPOINT half')
    try {
      const relation = `(SELECT * FROM ${NUMBERED} WHERE vitrina_n BETWEEN ${first} AND ${last}) AS batch`
      const rows = await this.#upsert(relation, false)
      await this.#session.run('RELEASE half')
      return rows
    } catch (error) {
      if (!isPoison(error)) throw error
      await this.#session.run('ROLLBACK TO half; RELEASE half')
      if (first === last) {
        refused.push(await this.#refused.byTable(first, error))
        return NO_ROWS
      }
    }
    const middle = Math.floor((first + last) / 2)
    const left = await this.#writeRange(first, middle, refused)
    const right = await this.#writeRange(middle + 1, last, refused)
    return sumRows(left, right)
  }
}

/** How many rows a relation has, and how many keys. */
export function countKeysSql({ key }: TargetTable, relation: string): string {
  return `SELECT coalesce(sum(n), 0) AS rows, count(*) AS keys FROM (SELECT count(*) AS n FROM ${relation} GROUP BY ${quoteList(key)}) AS keys`
}

type WriteOutcome = Pick<MartChange, 'rows' | 'refused' | 'read' | 'checks'>
