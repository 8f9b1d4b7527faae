import { Readable } from 'node:stream'
import { failpoint } from '../../model/failpoints.js'
import { NO_ROWS, type RowCounts } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { Session } from '../../postgres/session.js'
import type { Target } from '../../sinks/postgres/target.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { RowBatch } from '../../sql/row-batch.js'
import { type Column, columnList } from '../../sql/selection.js'
import type { Bringer } from '../mover.js'
import { Pushdown } from '../pushdown.js'
import { deleteAbsent } from '../replace.js'
import { MartWriter, type Written } from '../writer.js'
import type { Mart, MartChange, MartReplacement } from './mart.js'

interface TableParts {
  readonly session: Session
  readonly table: Target
  /** What comes out of the transforms. */
  readonly columns: readonly Column[]
  readonly brake: number
  readonly writing: {
    readonly newestBy: readonly string[]
    readonly quarantineLimit: number
    readonly empty: boolean
    readonly refusedSoFar: number
  }
}

/** A table of PostgreSQL: everything here happens inside the transaction of a batch, which moves the checkpoint too. */
export class TableMart implements Mart {
  readonly publish = null
  readonly #parts: TableParts
  readonly #staging: Staging
  readonly #writer: MartWriter<RowBatch>

  private constructor(parts: TableParts, staging: Staging) {
    this.#parts = parts
    this.#staging = staging
    this.#writer = new MartWriter({
      session: parts.session,
      target: parts.table,
      mover: staging,
      ...parts.writing,
    })
  }

  static async open(parts: TableParts): Promise<TableMart> {
    const staging = new Staging(parts.session, parts.columns)
    // Outside any batch: one that is rolled back must not take its staging table with it.
    await staging.create('vitrina_batch', parts.columns)
    return new TableMart(parts, staging)
  }

  async write(batch: RowBatch): Promise<MartChange> {
    return changed(await this.#writer.write(batch))
  }

  async remove(keys: readonly TextValues[], _id: BatchId, brake: number): Promise<MartChange> {
    await this.#stageKeys([keys])
    const none = '(SELECT * FROM pg_temp.vitrina_keys WHERE false)'
    return this.#deleted(await deleteAbsent({ ...this.#deleting(), brake }, none, 'pg_temp.vitrina_keys'))
  }

  async removeAbsent(keys: AsyncIterable<readonly TextValues[]>): Promise<MartChange> {
    await this.#stageKeys(keys)
    const deleted = await deleteAbsent(this.#deleting(), 'pg_temp.vitrina_keys', null)
    failpoint('sweep.deleted')
    return this.#deleted(deleted)
  }

  async replacement(): Promise<MartReplacement> {
    const { session, table, columns, writing } = this.#parts
    const staging = this.#staging
    await staging.create('vitrina_pass', columns)
    const writer = new MartWriter({ session, target: table, mover: new Pushdown(session), ...writing })
    return {
      isResumable: false,
      write: async (batch) => {
        await staging.copy(batch, 'pg_temp.vitrina_pass', columns)
        return changed({ rows: NO_ROWS, refused: [] })
      },
      publish: async () => {
        await session.run('ANALYZE pg_temp.vitrina_pass')
        const deleted = await deleteAbsent(this.#deleting(), 'pg_temp.vitrina_pass', null)
        const written = await writer.write(`SELECT ${columnList(columns)} FROM pg_temp.vitrina_pass`)
        failpoint('replace.merged')
        return changed({ ...written, rows: { ...written.rows, deleted } })
      },
    }
  }

  #deleting(): Parameters<typeof deleteAbsent>[0] {
    const { session, table, brake } = this.#parts
    return { target: session, table, brake }
  }

  #deleted(deleted: number): MartChange {
    return changed({ rows: { ...NO_ROWS, deleted }, refused: [] })
  }

  async #stageKeys(
    portions: AsyncIterable<readonly TextValues[]> | Iterable<readonly TextValues[]>,
  ): Promise<void> {
    const { session, table, columns } = this.#parts
    const key = table.key.map((name) => columns.find((column) => column.name === name)!)
    await this.#staging.create('vitrina_keys', key)
    for await (const keys of portions)
      await this.#staging.copy(RowBatch.ofRows(keys), 'pg_temp.vitrina_keys', key)
    await session.run('ANALYZE pg_temp.vitrina_keys')
  }
}

function changed({ rows, refused }: Written): MartChange {
  return { rows: { ...rows, read: 0 } satisfies RowCounts, refused, marks: [] }
}

/** Brings rows that are already here into the target's session. */
class Staging implements Bringer<RowBatch> {
  readonly #session: Session
  readonly #columns: readonly Column[]

  constructor(session: Session, columns: readonly Column[]) {
    this.#session = session
    this.#columns = columns
  }

  async create(name: string, columns: readonly Column[]): Promise<void> {
    const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
    await this.#session.run(
      `DROP TABLE IF EXISTS pg_temp.${name}; CREATE TEMP TABLE ${name} (${definitions.join(', ')})`,
    )
  }

  async bring(batch: RowBatch): Promise<string> {
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
