import { createHash } from 'node:crypto'
import type { SortOrder } from '../model/mart-data.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { invalidRequest } from './errors.js'
import type { MartTable, MartTableColumn } from './mart-table.js'

/** An expression that rows are ordered by. Its text, cast back, is the same value. */
export interface OrderPart {
  readonly sql: string
  readonly castType: string
  readonly mayBeNull: boolean
}

/** How the rows of a request are ordered: by the chosen column, then by what makes every row unique. */
export interface RowOrder {
  readonly sort: SortOrder | null
  readonly chosen: OrderPart | null
  readonly unique: readonly OrderPart[]
  readonly direction: 'asc' | 'desc'
}

export function orderOf(table: MartTable, sort: string | undefined): RowOrder {
  const wanted = sort === undefined ? null : readSort(table, sort)
  const unique = uniqueParts(table)
  if (wanted === null) return { sort: null, chosen: null, unique, direction: 'asc' }
  const { column, direction } = wanted
  return { sort: { column: column.name, direction }, chosen: orderPart(column), unique, direction }
}

export function orderPart(column: MartTableColumn): OrderPart {
  const name = quoteIdentifier(column.name)
  return column.isOrdered
    ? { sql: name, castType: column.castType, mayBeNull: !column.notNull }
    : { sql: `${name}::text COLLATE "C"`, castType: 'text', mayBeNull: !column.notNull }
}

function uniqueParts({ key, columns }: MartTable): OrderPart[] {
  if (key.length > 0) return key.map((name) => orderPart(columns.find((column) => column.name === name)!))
  // Without a key, rows are paged by their place; tableoid, because each partition counts its own places.
  return [
    { sql: 'tableoid', castType: 'oid', mayBeNull: false },
    { sql: 'ctid', castType: 'tid', mayBeNull: false },
  ]
}

/** `title`, `-title`, `title:desc` or `title desc`. A column of exactly this name comes first. */
function readSort(
  { columns }: MartTable,
  text: string,
): { readonly column: MartTableColumn; readonly direction: 'asc' | 'desc' } {
  const named = (name: string) => columns.find((column) => column.name === name)
  const exact = named(text)
  if (exact !== undefined) return { column: exact, direction: 'asc' }
  const descending = text.startsWith('-') ? named(text.slice(1)) : undefined
  if (descending !== undefined) return { column: descending, direction: 'desc' }
  const last = Math.max(text.lastIndexOf(':'), text.lastIndexOf(' '))
  const direction = text.slice(last + 1).toLowerCase()
  const column = last > 0 ? named(text.slice(0, last).trimEnd()) : undefined
  if (column !== undefined && (direction === 'asc' || direction === 'desc')) return { column, direction }
  throw unknownColumn('sort', text, columns)
}

export function unknownColumn(field: string, name: string, columns: readonly MartTableColumn[]) {
  const names = columns.map((column) => column.name)
  const shown = names.slice(0, 50).join(', ') + (names.length > 50 ? ', …' : '')
  return invalidRequest(
    field,
    `The mart has no column "${name.slice(0, 100)}".`,
    field === 'sort'
      ? `Sort by one of its columns, for descending order with "-" before the name. Columns: ${shown}.`
      : `Filter by its columns: ${shown}.`,
  )
}

/** The place after which the next page begins: the value of the chosen column, then those of the unique ones. */
export interface PagePosition {
  readonly chosen: string | null
  readonly unique: readonly string[]
}

/** In characters. A longer one would not fit into the line of a request; a value of this length never fits into one. */
export const LONGEST_CURSOR = 8_000

/** Null: the values are too long for a cursor. */
export function writeCursor(signature: string, { chosen, unique }: PagePosition): string | null {
  const text = Buffer.from(JSON.stringify([signature, chosen, ...unique])).toString('base64url')
  return text.length > LONGEST_CURSOR ? null : text
}

export function readPageCursor(cursor: string, signature: string, order: RowOrder): PagePosition {
  const parts = decode(cursor)
  if (parts === null || parts.length !== 2 + order.unique.length || parts.slice(2).includes(null))
    throw foreignCursor()
  const [written, chosen = null, ...unique] = parts
  if (chosen === null && order.chosen !== null && !order.chosen.mayBeNull) throw foreignCursor()
  if (written !== signature)
    throw invalidRequest(
      'cursor',
      'The cursor belongs to another mart, order or filter.',
      'Begin without a cursor after a change of sort or filter.',
    )
  return { chosen, unique: unique as string[] }
}

function decode(cursor: string): (string | null)[] | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isText = (part: unknown) => part === null || typeof part === 'string'
    return Array.isArray(parts) && parts.every(isText) ? parts : null
  } catch {
    return null
  }
}

function foreignCursor() {
  return invalidRequest(
    'cursor',
    'The cursor was not created by this server.',
    'Use next_cursor of the last response, unchanged.',
  )
}

/** A cursor is only valid for the request that it came from. */
export function signatureOf(table: MartTable, order: RowOrder, filter: string | undefined): string {
  const parts = [table.quoted, order.sort, order.unique.map(({ sql }) => sql), filter ?? null]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}
