import { VitrinaError } from '../../model/errors.js'
import type { BatchId, Removal, Replacement, WriteResult, Written } from '../../ports/sink.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { requireBrake } from './difference.js'
import { dropTable, tablesLike } from './schema.js'
import { ClickHouseWriter, type MartParts } from './writer.js'

/** A new table next to the data that replaces it by EXCHANGE, which is atomic for readers. */
export class TableReplacement implements Replacement {
  readonly isResumable = true
  readonly #parts: MartParts
  readonly #identity: string
  readonly #brake: number
  readonly #fresh: string
  #writer: Promise<ClickHouseWriter> | null = null

  private constructor(parts: MartParts, identity: string, brake: number) {
    // Always compare: the total is checked against the number of new rows.
    this.#parts = { ...parts, compare: true }
    this.#identity = identity
    this.#brake = brake
    this.#fresh = parts.names.fresh(identity)
  }

  /** Resumes what was built under this identity: that of a run, or of the parts of one of its attempts. */
  static async open(parts: MartParts, identity: string, brake: number): Promise<TableReplacement> {
    const replacement = new TableReplacement(parts, identity, brake)
    await replacement.#open()
    return replacement
  }

  async #open(): Promise<void> {
    const { server, names, ownership } = this.#parts
    for (const table of await tablesLike(server, names, names.freshPrefix))
      if (table !== this.#fresh) await dropTable(server, names, table)
    if ((await ownership.builtAs(names.data)) === this.#identity) return
    await server.command({
      // Same definition as the data: engine, order, settings and anything an administrator changed.
      sql: `CREATE TABLE IF NOT EXISTS ${names.full(this.#fresh)} AS ${names.full(names.data)}`,
      doing: `Creating ${names.shown(this.#fresh)}`,
    })
  }

  async write(batch: RowBatch, id: BatchId): Promise<WriteResult> {
    this.#writer ??= this.#begin(id)
    return (await this.#writer).write(batch, id)
  }

  /** A batch repeated after the exchange belongs to the table that is now in place. */
  async #begin(id: BatchId): Promise<ClickHouseWriter> {
    const { names, ownership } = this.#parts
    if (await this.#isPublished()) return new ClickHouseWriter(this.#parts, names.data)
    await ownership.extendTo(this.#fresh, id, this.#identity)
    return new ClickHouseWriter(this.#parts, this.#fresh)
  }

  get table(): string {
    return this.#fresh
  }

  async publish(id: BatchId, written: Written): Promise<Removal> {
    const { server, names, ownership, codec } = this.#parts
    await ownership.version(id)
    // An exchange whose response was lost must not be undone by a second one.
    if (await this.#isPublished()) return this.#tidy(0)
    await ownership.extendTo(this.#fresh, id, this.#identity)
    const difference = { server, names, codec, data: names.data, kept: this.#fresh }
    const { gone, kept } = await requireBrake(difference, this.#brake)
    this.#requireCount(kept, written)
    await server.commandOnce({
      sql: `EXCHANGE TABLES ${names.full(names.data)} AND ${names.full(this.#fresh)}`,
      doing: `Exchanging ${names.shown(names.data)} for ${names.shown(this.#fresh)}`,
    })
    return this.#tidy(gone)
  }

  async #isPublished(): Promise<boolean> {
    const { names, ownership } = this.#parts
    return (await ownership.builtAs(names.data)) === this.#identity
  }

  #requireCount(count: number, { rows, rewritten }: { rows: number; rewritten: number }): void {
    if (count <= rows && count >= rows - rewritten) return
    throw new VitrinaError(
      'SINK_GONE',
      `${this.#parts.names.shown(this.#fresh)} contains ${count} rows, but ${rows} were written${rewritten > 0 ? ` (${rewritten} of them possibly twice)` : ''}.`,
      'Check whether another session wrote to that table; the next run rebuilds it.',
    )
  }

  /** A failure to remove the old rows must not fail a run whose mart is correct; the next run tries again. */
  async #tidy(deleted: number): Promise<Removal> {
    const { server, names } = this.#parts
    await dropTable(server, names, this.#fresh).catch(() => {})
    return { deleted }
  }
}
