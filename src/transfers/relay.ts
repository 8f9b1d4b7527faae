import { databaseError, onSide } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { requireUnchanged, type Target } from '../sinks/postgres/target.js'
import { requireSameTypes } from '../sources/postgres/describe.js'
import { quoteIdentifier, quoteList } from '../sql/identifiers.js'
import { type Column, columnList } from '../sql/selection.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import type { Mover } from './mover.js'

/**
 * Types whose binary form is the same in every PostgreSQL and names nothing by number. The others travel as text:
 * enums, composites and the reg* types carry numbers that mean something else in another database.
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

/** Two databases: what COPY gives on one side goes into COPY on the other, and JavaScript never sees a value. */
export class Relay implements Mover {
  readonly way = 'relay'
  readonly isReading = true
  readonly #source: Session
  readonly #target: Session
  readonly #table: Target
  readonly #columns: readonly Column[]
  readonly #format: string

  constructor(options: {
    source: Session
    target: Session
    table: Target
    columns: readonly Column[]
  }) {
    this.#source = options.source
    this.#target = options.target
    this.#table = options.table
    this.#columns = options.columns
    this.#format = options.columns.every((column) => BINARY.has(column.typeOid)) ? 'binary' : 'text'
  }

  /** Outside any batch: a batch that is rolled back must not take its staging table with it. */
  async prepare(): Promise<void> {
    await this.#createTemporary('vitrina_batch', this.#columns)
  }

  async bring(selection: string): Promise<string> {
    await this.#target.run('TRUNCATE pg_temp.vitrina_batch')
    await this.#copy(selection, 'pg_temp.vitrina_batch', this.#columns)
    return 'pg_temp.vitrina_batch AS batch'
  }

  async fill(selection: string): Promise<number | null> {
    if (!this.#table.sameTypes || this.#table.overriding) return null
    // In the order of the key: the index is filled from one end, and later merges, sorted too, walk along the table.
    const ordered = `${selection} ORDER BY ${quoteList(this.#table.key)}`
    const rows = await this.#copy(ordered, this.#table.quoted, this.#columns)
    await requireUnchanged(this.#target, this.#table)
    return rows
  }

  /**
   * In one transaction: into a table that it did not create, COPY puts small rows where an earlier page has room left
   * (298 of 30,000 out of order). A checkpoint taken from the last row of a page would then pass rows of later pages.
   */
  async collect(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    return onSide('target', 'Collecting rows in the target database', async () => {
      await this.#target.run('BEGIN')
      await this.#createTemporary(into, columns)
      const rows = await this.#copy(selection, `pg_temp.${into}`, columns)
      await this.#target.run('COMMIT')
      return rows
    })
  }

  async #createTemporary(name: string, columns: readonly Column[]): Promise<void> {
    const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
    await this.#target.run(
      `DROP TABLE IF EXISTS pg_temp.${name}; CREATE TEMP TABLE ${name} (${definitions.join(', ')})`,
    )
  }

  /** Bytes do not say what they mean: a column that has got another type meanwhile would come as something else. */
  async #copy(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    const rows = await this.#pass(selection, into, columns)
    await requireSameTypes(this.#source, selection, columns)
    return rows
  }

  #pass(selection: string, into: string, columns: readonly Column[]): Promise<number> {
    const bytes = this.#source.copyOut(`COPY (${selection}) TO STDOUT (FORMAT ${this.#format})`)
    // A row that the query itself fails on is nobody's poison: there is no row to set apart.
    let refusal: unknown = null
    bytes.once('error', (error) => {
      refusal = error
    })
    const statement = `COPY ${into} (${columnList(columns)}) FROM STDIN (FORMAT ${this.#format})`
    return this.#target.copyIn(statement, bytes).catch((error: unknown) => {
      throw error === refusal && sqlstateOf(error) !== null
        ? databaseError(error, 'Reading the source', 'source')
        : error
    })
  }
}
