import { VitrinaError } from '../../model/errors.js'
import type { BatchId, PartBatchId, RejectedRow, WriteResult } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { ClickHouseServer } from './client.js'
import { firstLine, isAboutValues, isLateWriter } from './errors.js'
import type { MartOwnership, Right } from './ownership.js'
import { quoted } from './quoting.js'
import { type EncodedRow, encodeFields, RowCodec, type StoredColumn } from './row-codec.js'
import { DELETED_COLUMN, type MartNames, VERSION_COLUMN } from './schema.js'
import { structure } from './types.js'
import { ClickHouseValueError } from './value-error.js'

export interface MartParts {
  readonly server: ClickHouseServer
  readonly names: MartNames
  readonly codec: RowCodec
  readonly ownership: MartOwnership
  readonly compare: boolean
}

/** What writing rows takes. */
export interface WritingParts extends Omit<MartParts, 'ownership'> {
  readonly ownership: Right
}

/** Characters per request. */
const PART = 16 * 1024 * 1024
const KEYS_PART = 4 * 1024 * 1024
/** A rejected row is found by bisection, about 17 requests in a batch of 50,000. */
const MOST_REFUSED = 1000

/** Writes batches to one table. */
export class ClickHouseWriter {
  readonly #parts: WritingParts
  readonly #table: string

  constructor(parts: WritingParts, table: string) {
    this.#parts = parts
    this.#table = table
  }

  async write(batch: RowBatch, id: BatchId | PartBatchId): Promise<WriteResult> {
    const version = await this.#parts.ownership.version(id)
    const refused: RejectedRow[] = []
    const fit = this.#encode(batch, refused)
    const rows = [...new Map(fit.map((row) => [row.identity, row])).values()]
    const present = this.#parts.compare ? await this.find(rows) : new Map<string, string>()
    const changed = rows.filter((row) => present.get(row.identity) !== this.#digest(row, present))
    const insert = new Insert(this.#parts, this.#table, { id, version })
    for (const part of portions(changed, PART, (row) => row.line.length)) await insert.send(part)
    const left = new Set(insert.refused.map(({ row }) => row))
    const written = changed.filter(({ row }) => !left.has(row))
    const updated = written.filter(({ identity }) => present.has(identity)).length
    return {
      inserted: written.length - updated,
      updated,
      unchanged: rows.length - changed.length,
      duplicates: fit.length - rows.length,
      refused: [...refused, ...insert.refused],
    }
  }

  /** Only needed for rows that exist. */
  #digest(row: EncodedRow, present: ReadonlyMap<string, string>): string | null {
    return present.has(row.identity) ? this.#parts.codec.digest(row.values) : null
  }

  #encode(batch: RowBatch, refused: RejectedRow[]): EncodedRow[] {
    return batch.rows.flatMap((values, row) => {
      try {
        return [this.#parts.codec.encode(values, row)]
      } catch (error) {
        if (!(error instanceof ClickHouseValueError)) throw error
        refused.push({ row, reason: error.message })
        return []
      }
    })
  }

  /** Finds which of these keys exist, with the digests of their rows. */
  async find(rows: readonly { readonly key: string }[]): Promise<Map<string, string>> {
    const { server, codec, names } = this.#parts
    const found = new Map<string, string>()
    for (const part of portions(rows, KEYS_PART, (row) => row.key.length)) {
      const existing = await server.rows({
        sql: `SELECT ${[...codec.keySql, codec.digestSql].join(', ')} FROM ${names.full(this.#table)} FINAL
          WHERE ${among(codec.key, part)}`,
        doing: `Looking up rows of ${names.shown(this.#table)}`,
      })
      for (const fields of existing) found.set(RowCodec.identityOf(fields.slice(0, -1)), fields.at(-1)!)
    }
    return found
  }

  /** Finds the keys of the rows with these values in some columns of the key. */
  async keysWithin(columns: readonly string[], values: readonly TextValues[]): Promise<TextValues[]> {
    const { server, codec, names } = this.#parts
    const within = codec.key.filter(({ name }) => columns.includes(name))
    const places = within.map(({ name }) => columns.indexOf(name))
    const rows = values.flatMap((texts) => {
      const key = encodeFields(
        within,
        places.map((place) => texts[place]!),
      )
      return key === null ? [] : { key }
    })
    const found: TextValues[] = []
    for (const part of portions(rows, KEYS_PART, (row) => row.key.length)) {
      const existing = await server.rows({
        sql: `SELECT ${codec.keySql.join(', ')} FROM ${names.full(this.#table)} FINAL WHERE ${among(within, part)}`,
        doing: `Looking up rows of ${names.shown(this.#table)}`,
      })
      found.push(...existing.map((fields) => codec.keyTexts(fields)))
    }
    return found
  }

  /** Marks keys as deleted. Returns how many existed. */
  async remove(keys: readonly TextValues[], id: BatchId): Promise<number> {
    const { codec, ownership } = this.#parts
    const version = await ownership.version(id)
    const named = keys.flatMap((key) => codec.encodeKey(key) ?? [])
    const present = await this.find(named)
    const gone = [...new Map(named.map((one) => [one.identity, one])).values()].filter(({ identity }) =>
      present.has(identity),
    )
    const insert = new Insert(this.#parts, this.#table, { id, version })
    for (const part of portions(gone, PART, (one) => one.key.length)) await insert.sendGone(part)
    return gone.length
  }
}

/** These values of columns, as one text that the server parses, regardless of their number. */
function among(columns: readonly StoredColumn[], rows: readonly { readonly key: string }[]): string {
  const lines = rows.map(({ key }) => `${key}\n`).join('')
  // $ ends the text, so it must not occur inside.
  const text = `$vitrina$${lines.replaceAll('$', '\\x24')}$vitrina$`
  return `(${quoted(columns.map(({ name }) => name))}) IN (SELECT * FROM format(TabSeparated, ${structure(columns.map(({ codec }) => codec))}, ${text}))`
}

/** Inserts the rows of one batch into one table. */
class Insert {
  readonly refused: RejectedRow[] = []
  readonly #parts: WritingParts
  readonly #table: string
  readonly #id: BatchId
  readonly #version: bigint

  constructor(parts: WritingParts, table: string, { id, version }: { id: BatchId; version: bigint }) {
    this.#parts = parts
    this.#table = table
    this.#id = id
    this.#version = version
  }

  /** Bisects what the server rejects until each rejected row is alone. */
  async send(rows: readonly EncodedRow[]): Promise<void> {
    const lines = rows.map(({ line }) => `${line}\t${this.#version}\n`).join('')
    const columns = [...this.#parts.codec.columns.map(({ name }) => name), VERSION_COLUMN]
    const problem = await this.#request(columns, lines)
    if (problem === null) return
    if (rows.length === 1) return this.#refuse(rows[0]!, problem)
    const middle = Math.ceil(rows.length / 2)
    await this.send(rows.slice(0, middle))
    await this.send(rows.slice(middle))
  }

  async sendGone(keys: readonly { readonly key: string }[]): Promise<void> {
    const lines = keys.map(({ key }) => `${key}\t${this.#version}\t1\n`).join('')
    const columns = [...this.#parts.codec.key.map(({ name }) => name), VERSION_COLUMN, DELETED_COLUMN]
    const problem = await this.#request(columns, lines)
    if (problem !== null) throw this.#parts.server.error(problem, this.#doing)
  }

  get #doing(): string {
    return `Writing to ${this.#parts.names.shown(this.#table)}`
  }

  /** Returns null on success, or the server's error about the values. */
  async #request(columns: readonly string[], lines: string): Promise<unknown> {
    const { server, names, ownership } = this.#parts
    const { pipelineId, runId, fence, number } = this.#id
    const name = `${pipelineId}/${runId}/${fence}/${number}/${this.#table}`
    try {
      await server.insert(`${names.full(this.#table)} (${quoted(columns)})`, lines, name)
      return null
    } catch (error) {
      if (isLateWriter(error)) throw await ownership.lost(this.#id)
      if (isAboutValues(error)) return error
      throw server.error(error, this.#doing)
    }
  }

  #refuse({ row }: EncodedRow, problem: unknown): void {
    this.refused.push({ row, reason: firstLine(problem) })
    if (this.refused.length < MOST_REFUSED) return
    throw new VitrinaError(
      'ROWS_REFUSED',
      `ClickHouse rejected ${MOST_REFUSED} rows of one batch for ${this.#parts.names.shown()}, the last one because: ${firstLine(problem)}`,
      'Compare the columns and constraints of the table with the columns of the query.',
    )
  }
}

/** Splits where the sum of sizes exceeds the limit. */
function* portions<T>(all: readonly T[], limit: number, sizeOf: (one: T) => number): Generator<readonly T[]> {
  let start = 0
  let size = 0
  for (let at = 0; at < all.length; at++) {
    size += sizeOf(all[at]!)
    if (size < limit) continue
    yield all.slice(start, at + 1)
    start = at + 1
    size = 0
  }
  if (start < all.length) yield all.slice(start)
}
