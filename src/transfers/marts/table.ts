import { Readable } from 'node:stream'
import { requireBelowBrake } from '../../model/brake.js'
import { failpoint } from '../../model/failpoints.js'
import { finalTarget, type Pipeline } from '../../model/pipeline.js'
import type { BatchId } from '../../ports/sink.js'
import type { Session } from '../../postgres/session.js'
import { arrayLiteral } from '../../scopes/index.js'
import { absentFrom } from '../../sinks/postgres/merge.js'
import {
  createTarget,
  findTarget,
  requireAssignable,
  type TargetTable,
  type WantedTable,
} from '../../sinks/postgres/target.js'
import { momentOf } from '../../sources/postgres/changes.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { RowBatch } from '../../sql/row-batch.js'
import { type Column, columnList } from '../../sql/selection.js'
import {
  deletedRows,
  type FoundMart,
  type MartChange,
  type MartReplacement,
  NO_CHANGE,
  type RemovalWithin,
  type RowMart,
  type Scopes,
} from './mart.js'
import { type RowSource, TableWriter, type TableWriting } from './table-writer.js'

/** So few rows need no temporary table, and a table of them no statistics. */
export const FEW_ROWS = 1_000

/** The table that a pipeline fills. */
export function wantedTable(
  pipeline: Pipeline,
  columns: readonly Column[],
  rules: WantedTable['rules'],
): WantedTable {
  return { address: finalTarget(pipeline), columns, keyColumns: pipeline.keyColumns, rules }
}

export async function findTable(session: Session, wanted: WantedTable): Promise<FoundMart<TargetTable>> {
  const { keyColumns } = wanted
  const found = await findTarget(session, wanted)
  return {
    key: found?.key ?? keyColumns,
    create: async () => {
      const mart = found ?? (await createTarget(session, wanted))
      await requireAssignable(session, mart)
      return { mart, identity: await identityOf(session, mart), isNew: found === null }
    },
  }
}

/** The oid of a table means nothing without its database and its server. */
async function identityOf(session: Session, { oid }: TargetTable): Promise<string> {
  const moment = await momentOf(session)
  const [database] = await session.rows(
    'SELECT oid::text FROM pg_database WHERE datname = current_database()',
  )
  return `${moment?.system ?? ''}/${database?.oid}#${oid}`
}

export async function isEmptyTable(session: Session, { quoted }: TargetTable): Promise<boolean> {
  const [row] = await session.rows(`SELECT EXISTS (SELECT FROM ${quoted})::text AS filled`)
  return row?.filled === 'false'
}

/** Rows to delete, by key. Both are relations of the session. */
export interface Absent {
  /** Rows whose key is here stay. */
  readonly kept: string
  /** Only rows whose values in these columns (those of the key, unless given) are here are deleted; null: all others. */
  readonly among: { readonly relation: string; readonly columns?: readonly string[] } | null
  /** Share of the table that may be deleted. An empty source is more often a mistake than a request for an empty mart. */
  readonly brake: number
}

export async function deleteAbsent(
  session: Session,
  table: TargetTable,
  { kept, among, brake }: Absent,
): Promise<number> {
  const condition = [
    absentFrom(table, kept),
    ...(among === null ? [] : [`NOT ${absentFrom(table, among.relation, among.columns)}`]),
  ].join(' AND ')
  const deleted = await session.count(`DELETE FROM ${table.quoted} AS mart WHERE ${condition}`)
  if (deleted > 0 && !(await isBelowBrake(session, table, { deleted, brake }))) {
    const [left] = await session.rows(`SELECT count(*) AS n FROM ${table.quoted}`)
    const size = Number(left?.n) + deleted
    requireBelowBrake(`${table.name.schema}.${table.name.table}`, { deleted, size, brake })
  }
  return deleted
}

/** Reads only as many of the rows that are left as the brake requires: counting them all would take longer than a run. */
async function isBelowBrake(
  session: Session,
  table: TargetTable,
  { deleted, brake }: { readonly deleted: number; readonly brake: number },
): Promise<boolean> {
  if (brake <= 0) return false
  const required = Math.ceil(deleted / brake) - deleted
  if (required <= 0) return true
  const [row] = await session.rows(
    `SELECT count(*) AS n FROM (SELECT FROM ${table.quoted} LIMIT ${required}) AS left_over`,
  )
  return Number(row?.n) >= required
}

/** A selection that the session of the table can run itself. */
export const SELECTIONS: RowSource<string> = {
  provide: async (selection) => `(${selection}) AS batch`,
  fill: async () => null,
}

interface TableMartParts {
  readonly session: Session
  readonly table: TargetTable
  /** The columns of the rows, after the transforms. */
  readonly columns: readonly Column[]
  readonly brake: number
  readonly writing: TableWriting
}

/** A table that takes rows from this process. Everything happens in the transaction of a batch, with its checkpoint. */
export class TableMart implements RowMart {
  readonly publish = null
  readonly #parts: TableMartParts
  readonly #staging: Staging
  readonly #writer: TableWriter<RowBatch>

  private constructor(parts: TableMartParts, staging: Staging) {
    const { session, table, writing } = parts
    this.#parts = parts
    this.#staging = staging
    this.#writer = new TableWriter({ session, table, rows: staging, ...writing })
  }

  static async open(parts: TableMartParts): Promise<TableMart> {
    const staging = new Staging(parts.session, parts.columns)
    // Outside any batch: a batch that is rolled back must not remove its staging table.
    await staging.create('vitrina_batch', parts.columns)
    return new TableMart(parts, staging)
  }

  write(batch: RowBatch): Promise<MartChange> {
    return this.#writer.write(batch)
  }

  async remove(keys: readonly TextValues[], _id: BatchId, brake: number): Promise<MartChange> {
    await this.#stageKeys([keys])
    const kept = '(SELECT * FROM pg_temp.vitrina_keys WHERE false)'
    return deletedRows(await this.#delete({ kept, among: { relation: 'pg_temp.vitrina_keys' }, brake }))
  }

  findsScopes(): boolean {
    return true
  }

  async removeWithin(
    scopes: Scopes,
    kept: readonly TextValues[],
    { brake }: RemovalWithin,
  ): Promise<MartChange> {
    await this.#stageKeys([kept])
    const among = await stageScopes(this.#parts.session, scopes)
    return deletedRows(await this.#delete({ kept: 'pg_temp.vitrina_keys', among, brake }))
  }

  async removeAbsent(keys: AsyncIterable<readonly TextValues[]>): Promise<MartChange> {
    await this.#stageKeys(keys)
    const { brake } = this.#parts
    const deleted = await this.#delete({ kept: 'pg_temp.vitrina_keys', among: null, brake })
    failpoint('sweep.deleted')
    return deletedRows(deleted)
  }

  async replacement(): Promise<MartReplacement> {
    const { session, table, columns, writing, brake } = this.#parts
    const staging = this.#staging
    await staging.create('vitrina_pass', columns)
    const writer = new TableWriter({ session, table, rows: SELECTIONS, ...writing })
    return {
      isResumable: false,
      write: async (batch) => {
        await staging.copy(batch, 'pg_temp.vitrina_pass', columns)
        return NO_CHANGE
      },
      publish: async () => {
        await session.run('ANALYZE pg_temp.vitrina_pass')
        const deleted = await this.#delete({ kept: 'pg_temp.vitrina_pass', among: null, brake })
        const change = await writer.write(`SELECT ${columnList(columns)} FROM pg_temp.vitrina_pass`)
        failpoint('replace.merged')
        // The rows were counted as read when they were staged.
        return { ...change, rows: { ...change.rows, read: 0, deleted } }
      },
    }
  }

  #delete(absent: Absent): Promise<number> {
    return deleteAbsent(this.#parts.session, this.#parts.table, absent)
  }

  async #stageKeys(
    portions: AsyncIterable<readonly TextValues[]> | Iterable<readonly TextValues[]>,
  ): Promise<void> {
    const { session, table, columns } = this.#parts
    const key = table.key.flatMap((name) => columns.filter((column) => column.name === name))
    await this.#staging.create('vitrina_keys', key)
    for await (const keys of portions)
      await this.#staging.copy(RowBatch.ofRows(keys), 'pg_temp.vitrina_keys', key)
    await session.run('ANALYZE pg_temp.vitrina_keys')
  }
}

/** Copies rows of this process into tables of the session. */
export class Staging implements RowSource<RowBatch> {
  readonly #session: Session
  readonly #columns: readonly Column[]

  constructor(session: Session, columns: readonly Column[]) {
    this.#session = session
    this.#columns = columns
  }

  create(name: string, columns: readonly Column[]): Promise<void> {
    return createTemporary(this.#session, name, columns)
  }

  async provide(batch: RowBatch): Promise<string> {
    await this.#session.run('TRUNCATE pg_temp.vitrina_batch')
    await this.copy(batch, 'pg_temp.vitrina_batch', this.#columns)
    return 'pg_temp.vitrina_batch AS batch'
  }

  async fill(): Promise<null> {
    return null
  }

  copy(batch: RowBatch, into: string, columns: readonly Column[]): Promise<number> {
    return this.#session.copyIn(
      `COPY ${into} (${columnList(columns)}) FROM STDIN`,
      Readable.from([batch.bytes], { objectMode: false }),
    )
  }
}

/** These scopes as a relation of the session. */
export async function stageScopes(
  session: Session,
  { columns, values }: Scopes,
): Promise<NonNullable<Absent['among']>> {
  const names = columns.map(({ name }) => name)
  const typed = columns.map(({ name, type }, place) => `u.c${place}::${type} AS ${quoteIdentifier(name)}`)
  const places = columns.map((_, place) => `c${place}`)
  const rows = (arrays: readonly string[]) =>
    `SELECT ${typed.join(', ')} FROM unnest(${arrays.join(', ')}) AS u(${places.join(', ')})`
  if (values[0]!.length <= FEW_ROWS)
    return { relation: `(${rows(values.map(arrayLiteral))})`, columns: names }
  const parameters = columns.map((_, place) => `$${place + 1}::text[]`)
  await session.run('DROP TABLE IF EXISTS pg_temp.vitrina_scopes')
  await session.rows(`CREATE TEMP TABLE vitrina_scopes AS ${rows(parameters)}`, values)
  await session.run('ANALYZE pg_temp.vitrina_scopes')
  return { relation: 'pg_temp.vitrina_scopes', columns: names }
}

/** Replaces a temporary table of the session. */
export async function createTemporary(
  session: Session,
  name: string,
  columns: readonly Column[],
): Promise<void> {
  await session.run(createTemporarySql(name, columns))
}

export function createTemporarySql(name: string, columns: readonly Column[]): string {
  const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
  return `DROP TABLE IF EXISTS pg_temp.${name}; CREATE TEMP TABLE ${name} (${definitions.join(', ')})`
}
