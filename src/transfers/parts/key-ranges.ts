import type { KeyRange } from '../../model/part.js'
import type { Session } from '../../postgres/session.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import {
  asRelation,
  type Column,
  columnList,
  cursorColumns,
  cursorOf,
  type Order,
  orderBy,
  range,
  where,
} from '../../sql/selection.js'
import type { Examined } from '../examine.js'

/** Enough for each of a thousand parts to differ from its share by a few percent of it. */
const SAMPLED_ROWS = 100_000

/**
 * The columns of the key that ranges are made of: those that cannot be NULL, from the first on. If the first one can be
 * NULL, it alone: with several columns, a row with a NULL would be on neither side of a bound.
 */
export function rangeOrder({ order }: Pick<Examined, 'order'>): Order {
  const { columns } = order
  const nullable = columns.findIndex((column) => !column.notNull)
  return { columns: columns.slice(0, nullable === -1 ? columns.length : Math.max(1, nullable)) }
}

/** Every row is in exactly one of the ranges: the first and the last are open, and the last one has NULL keys. */
function inRange(order: Order, { lo, hi }: KeyRange): string[] {
  const conditions = range(order, lo, hi)
  const hasNull = hi === null && order.columns.some((column) => !column.notNull)
  return hasNull ? conditions.map((condition) => `(${condition}) IS NOT FALSE`) : conditions
}

/** The rows of a part as a query of its own. */
export function queryOfRange(examined: Examined, order: Order, part: KeyRange): string {
  return `${queryOfAll(examined)}${conditionOfRange(order, part)}`
}

export function queryOfAll({ query, columns }: Pick<Examined, 'query' | 'columns'>): string {
  return `SELECT ${columnList(columns)} FROM ${asRelation(query)}`
}

/** Empty: the range is open on both sides. */
export function conditionOfRange(order: Order, part: KeyRange): string {
  return where(inRange(order, part))
}

/**
 * Cuts the rows of a query into ranges with about the same number of rows each, by a sample of their keys. Ranges of
 * equal width would put most rows into a few of them.
 */
export async function cutRanges(session: Session, examined: Examined, count: number): Promise<KeyRange[]> {
  const order = rangeOrder(examined)
  const sample = await sampleOf(session, examined, order)
  const keys = columnList(order.columns)
  const filled = order.columns.map((column) => `${quoteIdentifier(column.name)} IS NOT NULL`).join(' AND ')
  const rows = await session.rows(
    `SELECT ${cursorColumns(order)} FROM (
       SELECT DISTINCT ON (tile) * FROM (
         SELECT ${keys}, ntile(${count}) OVER (ORDER BY ${keys}) AS tile FROM ${sample} WHERE ${filled}) AS tiles
        ORDER BY tile, ${orderBy(order, 'DESC')}) AS bounds
      WHERE tile < ${count} GROUP BY ${keys} ORDER BY ${orderBy(order)}`,
  )
  const bounds = rows.map((row) => cursorOf(row, order))
  return [null, ...bounds].map((lo, index) => ({ lo, hi: bounds[index] ?? null }))
}

/** A relation with some keys of the query, each row as likely as the other. */
async function sampleOf(session: Session, examined: Examined, order: Order): Promise<string> {
  const share = Math.min(1, SAMPLED_ROWS / Math.max(1, examined.facts.rows))
  if (share === 1) return asRelation(examined.query)
  const table = await sampledTable(session, order.columns, examined.facts.rows)
  if (table !== null)
    return `(SELECT ${table.keys} FROM ${table.name} TABLESAMPLE SYSTEM (${share * 100})) AS sample`
  return `(SELECT ${columnList(order.columns)} FROM ${asRelation(examined.query)} WHERE pg_catalog.random() < ${share}) AS sample`
}

/**
 * The table that all keys are taken from unchanged, if the query returns most of its rows: a sample of its blocks reads
 * a hundredth of it. Null: the query itself is read.
 */
async function sampledTable(
  session: Session,
  columns: readonly Column[],
  rows: number,
): Promise<{ name: string; keys: string } | null> {
  const bases = columns.flatMap(({ base }) => base ?? [])
  const ids = [...new Set(bases.map(({ tableId }) => tableId))]
  const [id] = ids
  if (bases.length < columns.length || ids.length !== 1) return null
  const [table] = await session.rows<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class
      WHERE oid = $1::oid AND relkind IN ('r', 'm') AND reltuples BETWEEN 1 AND $2::float8 * 2`,
    [id, rows],
  )
  if (table === undefined) return null
  const names = await session.rows<{ name: string }>(
    `SELECT a.attname AS name FROM unnest($2::int2[]) WITH ORDINALITY AS c(attribute, place)
       JOIN pg_attribute a ON a.attrelid = $1::oid AND a.attnum = c.attribute ORDER BY c.place`,
    [id, bases.map(({ attribute }) => attribute)],
  )
  const keys = columns.map(({ name }, n) => `${quoteIdentifier(names[n]!.name)} AS ${quoteIdentifier(name)}`)
  return { name: table.name, keys: keys.join(', ') }
}
