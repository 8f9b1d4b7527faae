import type { HeldBack } from '../../model/run.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { type Image, relationKey } from '../../scopes/index.js'
import {
  canSweepFrom,
  isNewSince,
  openSince,
  type SweepFrom,
  sweepStart,
} from '../../sources/postgres/changes.js'
import { quoteIdentifier, quoteTable } from '../../sql/identifiers.js'
import type { ChangeSource, FoundChanges, NextPosition, TableChanges } from './change-source.js'
import type { QueryTrace } from './query-trace.js'

/** So many are read without counting them first. */
const FEW_ENTRIES = 2_000

/**
 * `capture: xmin`: rows whose version is new. Each table is read once. Deleted rows, and where a row was before it moved
 * to another scope, are not seen.
 */
export class RowVersions implements ChangeSource {
  #heldBack: HeldBack | null = null
  readonly waitForChanges = null
  readonly #source: Session
  readonly #trace: QueryTrace
  readonly #since: SweepFrom | null
  readonly #most: number
  #next: SweepFrom

  private constructor(
    source: Session,
    trace: QueryTrace,
    range: { since: SweepFrom | null; next: SweepFrom; most: number },
  ) {
    this.#source = source
    this.#trace = trace
    this.#since = range.since
    this.#next = range.next
    this.#most = range.most
  }

  /** `most`: above this, every row is computed. */
  static open(
    source: Session,
    trace: QueryTrace,
    { last, most }: { readonly last: SweepFrom | null; readonly most: number },
  ): Promise<RowVersions> {
    return onSide('source', 'Reading the position of the source', async () => {
      const next = await sweepStart(source)
      const isUsable = last !== null && (await canSweepFrom(source, last))
      return new RowVersions(source, trace, { since: isUsable ? last : null, next, most })
    })
  }

  get heldBack(): HeldBack | null {
    return this.#heldBack
  }

  get isFirst(): boolean {
    return this.#since === null
  }

  async first(): Promise<NextPosition> {
    return { xmin: this.#next }
  }

  async prepare(): Promise<void> {
    this.#next = await onSide('source', 'Reading the position of the source', () => sweepStart(this.#source))
  }

  read(): Promise<FoundChanges> {
    return onSide('source', 'Searching for changed rows', async () => {
      const found = await this.#find()
      // What was found is found again until the oldest transaction has ended.
      const isHeld = found.full !== null || found.tables.size > 0
      this.#heldBack = isHeld ? await openSince(this.#source, this.#next) : null
      return found
    })
  }

  async #find(): Promise<FoundChanges> {
    const next = { xmin: this.#next }
    const { trace, tables: all } = this.#trace
    const unseen = whyUnseen(this.#trace)
    if (unseen !== null) return { full: unseen, tables: new Map(), next }
    const since = this.#since!
    if (!trace.traced) {
      const hasChanged = await this.#anyChange(
        all.map(({ name }) => quoteTable(name)),
        since,
      )
      return { full: hasChanged ? trace.reason : null, tables: new Map(), next }
    }
    const tables = new Map<string, TableChanges>()
    for (const { table, capturedAs, columns } of trace.tables) {
      const images = await readImages(this.#source, {
        from: `${quoteTable(table)} t WHERE ${isNewSince(since)}`,
        columns,
        most: this.#most,
      })
      if (images === null)
        return { full: 'Too many rows have changed to follow each of them.', tables: new Map(), next }
      addImages(tables, relationKey(capturedAs), images)
    }
    return { full: null, tables, next }
  }

  async applied(): Promise<void> {}

  async #anyChange(tables: readonly string[], since: SweepFrom): Promise<boolean> {
    for (const table of tables) {
      const rows = await this.#source.rows(
        `SELECT 1 AS found FROM ${table} t WHERE ${isNewSince(since)} LIMIT 1`,
      )
      if (rows.length > 0) return true
    }
    return false
  }
}

function whyUnseen({ alwaysFull, hiddenTables: [hidden] }: QueryTrace): string | null {
  if (alwaysFull !== null || hidden === undefined) return alwaysFull
  return `${hidden.schema}.${hidden.table} is behind a view and may not be read itself, so its changes are not seen.`
}

/** Rows of a table as images; null: too many. */
export async function readImages(
  source: Session,
  { from, columns, most }: ReadRows,
): Promise<Image[] | null> {
  const texts = columns.map((name) => `t.${quoteIdentifier(name)}::text AS ${quoteIdentifier(name)}`)
  const selected = texts.length === 0 ? '1 AS found' : texts.join(', ')
  const read = (limit: number) => source.rows(`SELECT ${selected} FROM ${from} LIMIT ${limit}`)
  const first = await read(FEW_ENTRIES)
  if (first.length < FEW_ENTRIES) return first
  // Counting costs a fraction of reading rows that are then discarded.
  const { rows } = await source.row(
    `SELECT count(*)::text AS rows FROM (SELECT FROM ${from} LIMIT ${most + 1}) counted`,
  )
  return Number(rows) > most ? null : read(most)
}

interface ReadRows {
  readonly from: string
  readonly columns: readonly string[]
  readonly most: number
}

/** New images only: where the row was before is not known. */
export function addImages(tables: Map<string, TableChanges>, name: string, images: readonly Image[]): void {
  if (images.length === 0) return
  const { changed, old } = tables.get(name) ?? { changed: [], old: [] }
  tables.set(name, { changed: [...changed, ...images], old })
}
