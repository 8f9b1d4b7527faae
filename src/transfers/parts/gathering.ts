import { failpoint } from '../../model/failpoints.js'
import type { Session } from '../../postgres/session.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { type Column, columnList } from '../../sql/selection.js'
import type { MartChange } from '../marts/mart.js'
import { deleteAbsent, SELECTIONS } from '../marts/table.js'
import { TableWriter, type TableWriting } from '../marts/table-writer.js'

interface GatheringParts {
  readonly session: Session
  readonly table: TargetTable
  readonly pipelineId: string
  /** The columns of the rows, after the transforms. */
  readonly columns: readonly Column[]
  readonly brake: number
  readonly writing: TableWriting
}

/**
 * Where the parts of `replace` gather the new rows: a table next to the mart, because several sessions write it and a
 * temporary table belongs to one. It is not in the WAL, and it is removed when the rows are published.
 */
export class Gathering {
  readonly table: string
  readonly #parts: GatheringParts

  constructor(parts: GatheringParts) {
    this.#parts = parts
    const { schema } = parts.table.name
    const name = `vitrina_gather_${parts.pipelineId.replaceAll('-', '')}`
    this.table = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
  }

  async create(): Promise<void> {
    const { session, columns } = this.#parts
    const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
    await session.run(
      `DROP TABLE IF EXISTS ${this.table}; CREATE UNLOGGED TABLE ${this.table} (${definitions.join(', ')})`,
    )
  }

  /** Called in the batch that publishes: only the difference is applied. */
  async publish(): Promise<MartChange> {
    const { session, table, columns, brake, writing } = this.#parts
    await session.run(`ANALYZE ${this.table}`)
    const writer = new TableWriter({ session, table, rows: SELECTIONS, ...writing })
    const deleted = await deleteAbsent(session, table, { kept: this.table, among: null, brake })
    const change = await writer.write(`SELECT ${columnList(columns)} FROM ${this.table}`)
    await session.run(`DROP TABLE ${this.table}`)
    failpoint('replace.merged')
    // The rows were counted as read when they were gathered.
    return { ...change, rows: { ...change.rows, read: 0, deleted } }
  }
}
