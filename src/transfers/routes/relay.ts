import { guardedRelation, isPortable, type RowCheck } from '../../checks/index.js'
import { databaseError, onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { requireUnchanged, type TargetTable } from '../../sinks/postgres/target.js'
import { requireSameTypes } from '../../sources/postgres/describe.js'
import { quoteList } from '../../sql/identifiers.js'
import { type Column, columnList } from '../../sql/selection.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import { createTemporary } from '../marts/table.js'
import type { Mover } from './route.js'

/**
 * Types whose binary form is the same in every PostgreSQL and does not refer to anything by oid. Other types travel as
 * text: enums, composites and the reg* types contain oids that mean something else in another database.
 */
const BINARY = new Set([
  ...[
    16, 17, 18, 20, 21, 23, 25, 114, 600, 601, 603, 650, 700, 701, 718, 790, 829, 869, 1042, 1043, 1082, 1083,
    1114, 1184, 1186, 1266,
  ],
  ...[1560, 1562, 1700, 2950, 3802],
  // Their arrays.
  ...[
    1000, 1001, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1041, 1115, 1182, 1183, 1185, 1231, 2951,
    3807,
  ],
])

interface RelayParts {
  readonly source: Session
  readonly target: Session
  readonly table: TargetTable
  readonly columns: readonly Column[]
  /** The source is read in one transaction, which a failed or abandoned statement must not end. */
  readonly isSourceInTransaction?: boolean
  /** So is the target: the transaction of a group. */
  readonly isTargetInTransaction?: boolean
}

/** Two databases: COPY out of one goes into COPY of the other, and JavaScript never sees a value. */
export class Relay implements Mover {
  readonly isReading = true
  readonly #parts: RelayParts
  readonly #format: 'binary' | 'text'

  constructor(parts: RelayParts) {
    this.#parts = parts
    this.#format = parts.columns.every((column) => BINARY.has(column.typeOid)) ? 'binary' : 'text'
  }

  static async open(parts: RelayParts): Promise<Relay> {
    // Outside any batch: a batch that is rolled back must not remove its staging table.
    await createTemporary(parts.target, 'vitrina_batch', parts.columns)
    return new Relay(parts)
  }

  async provide(selection: string): Promise<string> {
    await this.#parts.target.run('TRUNCATE pg_temp.vitrina_batch')
    await this.#copy(selection, 'pg_temp.vitrina_batch', this.#parts.columns)
    return 'pg_temp.vitrina_batch AS batch'
  }

  async fill(selection: string): Promise<number | null> {
    const { target, table, columns } = this.#parts
    if (!table.sameTypes || table.overriding) return null
    // In the order of the key: the index is filled from one end, and later merges, which are sorted too, read the table
    // in its physical order.
    const rows = await this.#copy(`${selection} ORDER BY ${quoteList(table.key)}`, table.quoted, columns)
    await requireUnchanged(target, table)
    return rows
  }

  guarded(selection: string, checks: readonly RowCheck[]): string | null {
    const { columns, table } = this.#parts
    if (!checks.every(isPortable)) return null
    return `SELECT ${columnList(columns)} FROM ${guardedRelation(`(${selection}) AS batch`, checks, table.key)}`
  }

  /** Adds the rows of a selection to a table with the same columns, in the transaction of the caller. */
  append(selection: string, into: string): Promise<number> {
    return this.#copy(selection, into, this.#parts.columns)
  }

  /**
   * In one transaction: in a table that it did not create, COPY puts small rows into earlier pages with free space
   * (298 of 30,000 out of order). A checkpoint taken from the last row of a page would then skip rows of later pages.
   */
  collect(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    const { target, isTargetInTransaction = false } = this.#parts
    return onSide('target', 'Collecting rows in the target database', async () => {
      if (!isTargetInTransaction) await target.run('BEGIN')
      await createTemporary(target, into, columns)
      const rows = await this.#copy(selection, `pg_temp.${into}`, columns)
      if (!isTargetInTransaction) await target.run('COMMIT')
      return rows
    })
  }

  /** Bytes carry no types: a column whose type changed meanwhile would arrive as something else. */
  async #copy(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    const rows = await this.#apart(() => this.#transmit(selection, into, columns))
    await requireSameTypes(this.#parts.source, selection, columns)
    return rows
  }

  async #apart<T>(read: () => Promise<T>): Promise<T> {
    const { source, isSourceInTransaction = false } = this.#parts
    if (!isSourceInTransaction) return read()
    await source.run('SAVEPOINT copied')
    try {
      const result = await read()
      await source.run('RELEASE copied')
      return result
    } catch (error) {
      // If this fails too, the connection is lost, and the first error says why.
      await source.run('ROLLBACK TO copied; RELEASE copied').catch(() => {})
      throw error
    }
  }

  #transmit(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    const bytes = this.#parts.source.copyOut(`COPY (${selection}) TO STDOUT (FORMAT ${this.#format})`)
    // An error of the query itself does not quarantine a row: there is no row yet.
    let sourceError: unknown = null
    bytes.once('error', (error) => {
      sourceError = error
    })
    const statement = `COPY ${into} (${columnList(columns)}) FROM STDIN (FORMAT ${this.#format})`
    return this.#parts.target.copyIn(statement, bytes).catch((error: unknown) => {
      throw error === sourceError && sqlstateOf(error) !== null
        ? databaseError(error, 'Reading the source', 'source')
        : error
    })
  }
}
