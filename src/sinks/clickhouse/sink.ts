import { randomUUID } from 'node:crypto'
import { VitrinaError } from '../../model/errors.js'
import type {
  BatchId,
  Examination,
  MartDefinition,
  MartSummary,
  PartedPass,
  Parting,
  PartWriter,
  Removal,
  Replacement,
  RowDigest,
  Sink,
  WriteResult,
} from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { type ClickHouseServer, requireVersion } from './client.js'
import type { ColumnCodec } from './column-codec.js'
import type { ClickHouseOptions } from './config.js'
import { absentSql, requireBrake } from './difference.js'
import { examineColumns } from './examine.js'
import { MartOwnership } from './ownership.js'
import { quote, quoted } from './quoting.js'
import { TableReplacement } from './replacement.js'
import { RowCodec } from './row-codec.js'
import {
  createData,
  createView,
  DELETED_COLUMN,
  dropTable,
  findStoredTable,
  hasDatabase,
  MartNames,
  mismatches,
  tablesLike,
  targetFinding,
  unfilled,
  VERSION_COLUMN,
} from './schema.js'
import { ClickHouseWriter, type MartParts } from './writer.js'

/** Where and how a part is written. */
interface Ticket {
  /** The first of the epochs of the parts. */
  readonly epoch: string
  readonly table: string
  /** The table is being built. */
  readonly isNew: boolean
}

/** A mart in ClickHouse. docs/guides/clickhouse.md describes it for readers and administrators. */
export class ClickHouseSink implements Sink {
  readonly #mart: MartDefinition
  readonly #server: ClickHouseServer
  readonly #names: MartNames
  readonly #codec: RowCodec
  readonly #parts: MartParts
  readonly #writer: ClickHouseWriter

  constructor(mart: MartDefinition, server: ClickHouseServer, database: string) {
    const options = mart.options as unknown as ClickHouseOptions
    this.#mart = mart
    this.#server = server
    this.#names = new MartNames(mart.name, database)
    this.#codec = new RowCodec(mart.columns, mart.key, options)
    const ownership = new MartOwnership(server, this.#names)
    const { compare } = options
    this.#parts = { server, names: this.#names, codec: this.#codec, ownership, compare }
    this.#writer = new ClickHouseWriter(this.#parts, this.#names.data)
  }

  async examine(): Promise<Examination> {
    const names = this.#names
    const { errors, warnings } = examineColumns(this.#mart.columns, this.#codec)
    await requireVersion(this.#server)
    const view = await findStoredTable(this.#server, names, names.mart)
    const data = await findStoredTable(this.#server, names, names.data)
    errors.push(...mismatches(names, this.#codec, { view, data }))
    for (const column of data === null ? [] : unfilled(this.#codec, data))
      warnings.push(
        targetFinding({
          code: 'TARGET_MISMATCH',
          message: `${names.shown(names.data)} has a column "${column}" that the query does not return.`,
          hint: 'Every written row gets the default of that column; the mart does not show it.',
        }),
      )
    return { exists: data !== null, errors, warnings }
  }

  async prepare(): Promise<void> {
    const names = this.#names
    if (!(await hasDatabase(this.#server, names)))
      await this.#command(`CREATE DATABASE IF NOT EXISTS ${quote(names.database)}`)
    await this.#command(createData(names, this.#codec))
    const view = await findStoredTable(this.#server, names, names.mart)
    const data = await findStoredTable(this.#server, names, names.data)
    const [wrong] = mismatches(names, this.#codec, { view, data })
    if (wrong !== undefined) throw new VitrinaError('TARGET_MISMATCH', wrong.message, wrong.hint)
    const shown = data!.columns.filter(({ name }) => this.#codec.columns.some((one) => one.name === name))
    if (JSON.stringify(view?.columns) !== JSON.stringify(shown))
      await this.#command(createView(names, this.#codec))
  }

  identity(): Promise<string> {
    return this.#parts.ownership.identify()
  }

  #command(sql: string): Promise<void> {
    return this.#server.command({ sql, doing: `Creating ${this.#names.shown()}` })
  }

  write(batch: RowBatch, id: BatchId): Promise<WriteResult> {
    return this.#writer.write(batch, id)
  }

  keysWithin(columns: readonly string[], values: readonly TextValues[]): Promise<readonly TextValues[]> {
    return this.#writer.keysWithin(columns, values)
  }

  async remove(keys: readonly TextValues[], id: BatchId): Promise<Removal> {
    return { deleted: await this.#writer.remove(keys, id) }
  }

  async removeAbsent(keys: AsyncIterable<readonly TextValues[]>, id: BatchId): Promise<Removal> {
    const names = this.#names
    const version = await this.#parts.ownership.version(id)
    for (const table of await tablesLike(this.#server, names, names.keysPrefix))
      await dropTable(this.#server, names, table)
    const kept = names.keys(id.runId)
    try {
      await this.#gather(keys, kept)
      return { deleted: await this.#markAbsent(kept, version) }
    } finally {
      // If this fails, the next run drops the table.
      await dropTable(this.#server, names, kept).catch(() => {})
    }
  }

  async #gather(keys: AsyncIterable<readonly TextValues[]>, table: string): Promise<void> {
    const { key } = this.#codec
    const columns = key.map((column) => `${quote(column.name)} ${column.type}`)
    await this.#command(
      `CREATE TABLE ${this.#names.full(table)} (${columns.join(', ')}) ENGINE = ReplacingMergeTree ORDER BY (${quoted(key.map(({ name }) => name))})`,
    )
    for await (const texts of keys) {
      // A key that cannot be encoded does not exist in the mart, so there is nothing to keep.
      const lines = texts.flatMap((one) => this.#codec.encodeKey(one) ?? []).map((one) => `${one.key}\n`)
      if (lines.length > 0) await this.#insertKeys(table, lines.join(''))
    }
  }

  async #insertKeys(table: string, lines: string): Promise<void> {
    await this.#server.insert(this.#names.full(table), lines, table).catch((error) => {
      throw this.#server.error(error, `Sending keys for ${this.#names.shown()}`)
    })
  }

  async #markAbsent(kept: string, version: bigint): Promise<number> {
    const names = this.#names
    const difference = { ...this.#parts, data: names.data, kept }
    const { gone } = await requireBrake(difference, this.#mart.brake)
    if (gone === 0) return 0
    const key = quoted(this.#codec.key.map(({ name }) => name))
    await this.#server.command({
      sql: `INSERT INTO ${names.full(names.data)} (${key}, ${quote(VERSION_COLUMN)}, ${quote(DELETED_COLUMN)}) ${absentSql(difference, `${key}, ${version}, 1`)}`,
      doing: `Removing rows of ${names.shown()}`,
    })
    return gone
  }

  replacement(runId: string): Promise<Replacement> {
    return TableReplacement.open(this.#parts, runId, this.#mart.brake)
  }

  get parting(): Parting {
    return {
      refusesLate: true,
      begin: (id, replaces) => (replaces ? this.#beginReplacement(id) : this.#beginPass(id)),
      open: async (ticket) => this.#partWriter(JSON.parse(ticket) as Ticket),
    }
  }

  async #beginPass(id: BatchId): Promise<PartedPass> {
    const { ownership, names } = this.#parts
    const epoch = String(await ownership.share(id))
    const ticket: Ticket = { epoch, table: names.data, isNew: false }
    return {
      ticket: JSON.stringify(ticket),
      end: async (last) => {
        await ownership.version(last)
        return { deleted: 0 }
      },
    }
  }

  /** Another table in each attempt: what is sent late to that of an earlier one finds no table. */
  async #beginReplacement(id: BatchId): Promise<PartedPass> {
    const { ownership } = this.#parts
    const replacement = await TableReplacement.open(this.#parts, randomUUID(), this.#mart.brake)
    const epoch = String(await ownership.share(id))
    const ticket: Ticket = { epoch, table: replacement.table, isNew: true }
    return {
      ticket: JSON.stringify(ticket),
      end: (last, written) => replacement.publish(last, written),
    }
  }

  #partWriter({ epoch, table, isNew }: Ticket): PartWriter {
    const ownership = this.#parts.ownership.ofParts(BigInt(epoch))
    // Always compare in a new table: the total is checked against the number of new rows.
    const compare = isNew || this.#parts.compare
    return new ClickHouseWriter({ ...this.#parts, ownership, compare }, table)
  }

  /** Nothing to do: rows are visible as soon as the server has them. */
  async publish(): Promise<void> {}

  async summary(column: string): Promise<MartSummary> {
    const { codec } = this.#codec.columns.find(({ name }) => name === column)!
    const [row] = await this.#server.rows({
      sql: `SELECT count(), count(${quote(column)}), ${endSql('min', column, codec)}, ${endSql('max', column, codec)} FROM ${this.#names.full(this.#names.mart)}`,
      doing: `Counting the rows of ${this.#names.shown()}`,
    })
    const [count, filled, ...ends] = row!
    const [min, max] = ends.map((end) => (filled === '0' ? null : codec.decode(end!)))
    return { count: Number(count), min: min!, max: max! }
  }

  async *digests(): AsyncIterable<readonly RowDigest[]> {
    const { keySql, digestSql } = this.#codec
    const portions = this.#server.stream({
      sql: `SELECT ${[...keySql, digestSql].join(', ')} FROM ${this.#names.full(this.#names.mart)}`,
      doing: `Reading ${this.#names.shown()}`,
    })
    for await (const portion of portions) yield portion.map((fields) => this.#digestFrom(fields))
  }

  /** A server that fails in the middle of a response ends it with an error line. */
  #digestFrom(fields: TextValues): RowDigest {
    const digest = fields.at(-1)!
    if (fields.length !== this.#codec.key.length + 1 || !/^[0-9a-f]{32}$/.test(digest))
      throw new VitrinaError(
        'SINK_UNAVAILABLE',
        `ClickHouse aborted the response while reading ${this.#names.shown()}: ${fields.join(' ').slice(0, 300)}`,
        'Try again; if it persists, check the server log.',
      )
    return { key: this.#codec.keyTexts(fields.slice(0, -1)), digest }
  }

  digestOf(row: TextValues): RowDigest {
    return this.#codec.digestOf(row)
  }

  close(): Promise<void> {
    return this.#server.close()
  }
}

/** Two orders differ from PostgreSQL's: a UUID does not sort like its text, and NaN is not the greatest number. */
function endSql(end: 'min' | 'max', column: string, codec: ColumnCodec): string {
  const name = quote(column)
  if (codec.type === 'UUID') return `ifNull(${end}(toString(${name})), '')`
  if (!codec.type.startsWith('Float')) return codec.canonicalSql(`assumeNotNull(${end}(${name}))`)
  const others = `${end}If(${name}, NOT isNaN(${name}))`
  const isNan = end === 'max' ? `countIf(isNaN(${name})) > 0` : `countIf(NOT isNaN(${name})) = 0`
  return `if(${isNan}, 'nan', ${codec.canonicalSql(`assumeNotNull(${others})`)})`
}
