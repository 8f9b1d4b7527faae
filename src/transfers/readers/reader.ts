import type { Phase } from '../../model/claim.js'
import type { Session } from '../../postgres/session.js'
import {
  asRelation,
  type Column,
  type Cursor,
  columnList,
  type Order,
  orderBy,
  range,
  where,
} from '../../sql/selection.js'
import type { BatchEnd, Progression } from '../progression.js'

/** What a batch is made of. `Rows` identifies the rows: a selection that the database runs, or the rows themselves. */
export interface Portion<Rows> extends BatchEnd {
  readonly rows: Rows
  /** How many rows the source returned; null: the mart counts them as it writes. */
  readonly count: number | null
  /** The cursor in front of the first row, for the history of the run. */
  readonly after: Cursor | null
  /** The mart has the same rows already: nothing has to be written. `count` is their number. */
  readonly isUnchanged?: boolean
  /** Time spent on the portion before its batch began. */
  readonly phases: readonly Phase[]
  /** Set on the last portion of a pass whose batches a comparison can recognize by their transaction id. */
  readonly isOnly?: boolean
}

/** Returns the rows of a pass in portions of about `limit` rows; null: no more. */
export interface Reader<Rows> {
  next(limit: number): Promise<Portion<Rows> | null>
  /** Absent: it holds nothing open. */
  close?(): Promise<void>
}

/** What is read, and in which order. */
export interface SourceQuery {
  readonly source: Session
  readonly query: string
  readonly columns: readonly Column[]
  /** The tables that the query reads. */
  readonly relations: readonly string[]
  readonly order: Order
}

/** Rows after one cursor, up to and including another; null: no limit on that side. */
export function selectBetween(
  { query, columns, order }: SourceQuery,
  after: Cursor | null,
  upTo: Cursor | null,
): string {
  return `SELECT ${columnList(columns)} FROM ${asRelation(query)}${where(range(order, after, upTo))}`
}

/** Every row that a pass still has to read, in its order. */
export function selectRemaining({ query, columns, order }: SourceQuery, progression: Progression): string {
  // A NULL key does not compare with a cursor. Such rows come last, so an unfinished pass has not rejected them yet.
  const conditions = range(order, progression.after, null).map((condition) =>
    progression.unfinished ? `(${condition}) IS NOT FALSE` : condition,
  )
  return `SELECT ${columnList(columns)} FROM ${asRelation(query)}${where(conditions)} ORDER BY ${orderBy(order)}`
}

/** Where the rows of a selection can be queried again. */
export function queryableAs(session: Session, selection: string): Required<BatchEnd>['queryable'] {
  return { session, relation: `(${selection}) AS batch` }
}
