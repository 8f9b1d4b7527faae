import type { CutValue, MartRows, RowsQuestion } from '../model/mart-data.js'
import type { Session, TextRow } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { invalidRequest } from './errors.js'
import { type FilterCondition, parseFilter } from './filter.js'
import type { MartTable, MartTableColumn } from './mart-table.js'
import { filterSql, orderBySql, type PagePart, Parameters, portionsAfter } from './row-conditions.js'
import {
  LONGEST_CURSOR,
  orderOf,
  type PagePosition,
  type RowOrder,
  readPageCursor,
  signatureOf,
  writeCursor,
} from './row-order.js'

/** A longer value is cut. */
const MOST_CHARACTERS = 2_000
/** Of a row: 200 rows of 1,600 long values would be a response of 640 MB. */
const MOST_OF_ROW = 64_000

interface RowsReading {
  readonly table: MartTable
  readonly order: RowOrder
  readonly conditions: readonly FilterCondition[]
}

/** One page, inside the transaction of the caller. */
export async function readRows(
  session: Session,
  table: MartTable,
  { limit, cursor, sort, filter }: RowsQuestion,
): Promise<Omit<MartRows, 'rowsEstimate'>> {
  const order = orderOf(table, sort)
  const conditions = filter === undefined || filter.trim() === '' ? [] : parseFilter(filter)
  const signature = signatureOf(table, order, filter)
  const place = cursor === undefined ? null : readPageCursor(cursor, signature, order)
  const reading = { table, order, conditions }
  const found: TextRow[] = []
  for (const portion of portionsAfter(order, place)) {
    if (found.length > limit) break
    found.push(...(await readPortion(session, reading, { portion, limit: limit + 1 - found.length })))
  }
  const page = fittingPage(found, limit, (row) => writeCursor(signature, placeOf(row, order)))
  return {
    columns: table.columns.map(({ name, type, notNull }) => ({
      name,
      type,
      notNull,
      isKey: table.key.includes(name),
    })),
    hiddenColumns: table.hiddenColumns,
    sort: order.sort,
    nextCursor: page.nextCursor,
    ...shownValues(table.columns, page.rows),
  }
}

async function readPortion(
  session: Session,
  { table, order, conditions }: RowsReading,
  { portion, limit }: { readonly portion: PagePart; readonly limit: number },
): Promise<TextRow[]> {
  const parameters = new Parameters()
  const where = [...filterSql(conditions, table, parameters), ...portion.where(parameters)]
  const most = mostCharacters(table.columns.length)
  const shown = table.columns.map((column, n) => shownSql(column, n, most))
  const places = [
    ...(order.chosen === null ? [] : [`left((${order.chosen.sql})::text, ${LONGEST_CURSOR}) AS s`]),
    ...order.unique.map(({ sql }, n) => `left((${sql})::text, ${LONGEST_CURSOR}) AS u${n}`),
  ]
  return session
    .rows(
      `SELECT ${[...shown, ...places].join(', ')} FROM ${table.quoted}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`} ORDER BY ${orderBySql(order)} LIMIT ${limit}`,
      parameters.values,
    )
    .catch((error) => {
      throw valueError(error) ?? error
    })
}

/** The beginning of a value as text, and its length if that is not all of it. */
function shownSql({ name, baseType }: MartTableColumn, n: number, most: number): string {
  const column = quoteIdentifier(name)
  if (baseType === 'bytea') {
    const bytes = Math.floor(most / 2)
    return `substring(${column} FROM 1 FOR ${bytes})::text AS c${n}, CASE WHEN octet_length(${column}) > ${bytes} THEN octet_length(${column}) END AS l${n}`
  }
  const text = `${column}::text`
  return `left(${text}, ${most}) AS c${n}, CASE WHEN length(${text}) > ${most} THEN length(${text}) END AS l${n}`
}

function mostCharacters(columns: number): number {
  return Math.max(40, Math.min(MOST_CHARACTERS, Math.floor(MOST_OF_ROW / columns)))
}

function shownValues(
  columns: readonly MartTableColumn[],
  rows: readonly TextRow[],
): Pick<MartRows, 'rows' | 'cut'> {
  const cut: CutValue[] = []
  rows.forEach((row, index) => {
    columns.forEach(({ name }, n) => {
      const length = row[`l${n}`] ?? null
      if (length !== null) cut.push({ row: index, column: name, length: Number(length) })
    })
  })
  return { rows: rows.map((row) => columns.map((_, n) => row[`c${n}`] ?? null)), cut }
}

function placeOf(row: TextRow, { unique }: RowOrder): PagePosition {
  return { chosen: row.s ?? null, unique: unique.map((_, n) => row[`u${n}`]!) }
}

/** Ends at a row whose values fit into a cursor, at most after `limit` rows. */
function fittingPage(
  rows: readonly TextRow[],
  limit: number,
  cursorAfter: (row: TextRow) => string | null,
): { readonly rows: readonly TextRow[]; readonly nextCursor: string | null } {
  if (rows.length <= limit) return { rows, nextCursor: null }
  for (let last = limit; last > 0; last--) {
    const nextCursor = cursorAfter(rows[last - 1]!)
    if (nextCursor !== null) return { rows: rows.slice(0, last), nextCursor }
  }
  throw invalidRequest(
    'sort',
    'There is no next page: the values that the rows are sorted by are too long for a cursor.',
    'Sort by another column, or narrow the filter.',
  )
}

/** Class 22 is a value that does not fit its type: only the filter and the cursor bring values. */
function valueError(error: unknown) {
  const state = sqlstateOf(error) ?? ''
  if (!/^(22|42883|42846)/.test(state)) return null
  const { message } = error as Error
  return invalidRequest(
    'filter',
    `A value of the filter or of the cursor does not fit its column: ${message}.`,
    'Write numbers with a point, times as 2026-11-15 10:00:00+00, and use next_cursor unchanged.',
  )
}
