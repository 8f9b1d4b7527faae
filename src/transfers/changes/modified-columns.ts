import { type CheckpointState, cursorFrom } from '../../checkpoints/checkpoint.js'
import type { HeldBack } from '../../model/run.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { type FollowedColumn, relationKey, type Traced } from '../../scopes/index.js'
import { type Horizon, isSafe, type Watermark } from '../../sources/postgres/horizon.js'
import { quoteIdentifier, quoteLiteral, quoteTable } from '../../sql/identifiers.js'
import type { Column } from '../../sql/selection.js'
import { NO_WATERMARK } from '../progression.js'
import type { ChangeSource, FoundChanges, NextPosition, TableChanges } from './change-source.js'
import { addImages, readImages } from './row-versions.js'

interface ModifiedParts {
  readonly source: Session
  readonly trace: Traced
  /** The columns that grow with every change, at most one for each table that is watched. */
  readonly followed: readonly FollowedColumn[]
  /** The result column that follows them. */
  readonly key: Column
  readonly horizon: Horizon
  /** Above this, every row is computed. */
  readonly most: number
  /** Its key is the checkpoint. */
  readonly state: CheckpointState
}

/**
 * `capture: key` for joins and aggregates: rows of the base tables whose column is above the checkpoint, found through an
 * index on it. The checkpoint moves only below the first key that an open transaction could still commit.
 */
export class ModifiedColumns implements ChangeSource {
  readonly waitForChanges = null
  readonly #parts: ModifiedParts
  #watermark: Watermark = NO_WATERMARK
  #heldBack: HeldBack | null = null

  constructor(parts: ModifiedParts) {
    this.#parts = parts
  }

  get heldBack(): HeldBack | null {
    return this.#heldBack
  }

  get isFirst(): boolean {
    const { state, key } = this.#parts
    // Also if the checkpoint belongs to other columns: the pipeline had another key or capture.
    return cursorFrom(state, [key.name]) === null || state.position.pass?.name === 'initial'
  }

  async first(): Promise<NextPosition> {
    await this.prepare()
    return { modified: await this.#newest(null) }
  }

  async prepare(): Promise<void> {
    this.#watermark = await onSide('source', 'Reading the open transactions of the source', () =>
      this.#parts.horizon.watermark(null),
    )
  }

  read(): Promise<FoundChanges> {
    return onSide('source', 'Searching for changed rows', async () => {
      const { source, trace, followed, state, most } = this.#parts
      const next = { modified: await this.#newest(state) }
      const tables = new Map<string, TableChanges>()
      for (const each of followed) {
        const table = trace.tables.find((one) => relationKey(one.table) === relationKey(each.table))!
        const images = await readImages(source, {
          from: rowsAbove(each, state),
          columns: table.columns,
          most,
        })
        if (images === null)
          return { full: 'Too many rows have changed to follow each of them.', tables: new Map(), next }
        addImages(tables, relationKey(table.capturedAs), images)
      }
      return { full: null, tables, next }
    })
  }

  async applied(): Promise<void> {}

  /** The highest key of all tables, and of the checkpoint, that no open transaction can still undercut. */
  async #newest(state: CheckpointKeys | null): Promise<string | null> {
    const { source, followed, key } = this.#parts
    const isBelow = (each: FollowedColumn) => isSafe(this.#watermark, key, columnOf(each))
    const highest = followed.map(
      (each) =>
        `(SELECT max(${columnOf(each)})::text FROM ${rowsAbove(each, state)} AND ${isBelow(each)})::${key.type}`,
    )
    const above = followed.map(
      (each) => `EXISTS (SELECT FROM ${rowsAbove(each, state)} AND NOT (${isBelow(each)}))`,
    )
    const known = state?.key == null ? [] : [`${quoteLiteral(state.key)}::${key.type}`]
    const row = await source.row(
      `SELECT greatest(${[...known, ...highest].join(', ')})::text AS newest, (${above.join(' OR ')})::text AS above`,
    )
    this.#heldBack = row.above === 'true' ? this.#watermark.heldBack : null
    return row.newest ?? null
  }
}

type CheckpointKeys = Pick<CheckpointState, 'key' | 'id'>

function columnOf({ column }: FollowedColumn): string {
  return `t.${quoteIdentifier(column)}`
}

/** Rows beyond the checkpoint. One that a user has set with an id may be between rows of the same key. */
function rowsAbove(each: FollowedColumn, state: CheckpointKeys | null): string {
  const from = `${quoteTable(each.table)} t`
  if (state?.key == null) return `${from} WHERE ${columnOf(each)} IS NOT NULL`
  const operator = state.id === null ? '>' : '>='
  return `${from} WHERE ${columnOf(each)} ${operator} ${quoteLiteral(state.key)}::${each.type}`
}
