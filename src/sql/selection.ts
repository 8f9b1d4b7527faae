import { VitrinaError } from '../model/errors.js'
import { quoteIdentifier, quoteLiteral } from './identifiers.js'

/** A column of a query, with its type as the database writes it, schema included. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly typeOid: number
  /** The table column it is taken from unchanged; null for an expression. */
  readonly base: { readonly tableId: string; readonly attribute: number } | null
  /** True only if the database guarantees it. */
  readonly notNull: boolean
}

/** The column named in a setting of the pipeline. */
export function requireColumn(columns: readonly Column[], name: string, setting: string): Column {
  const found = columns.find((column) => column.name === name)
  if (found !== undefined) return found
  throw new VitrinaError(
    'KEY_MISSING',
    `The query does not return the column "${name}" named in ${setting}; it returns ${columns.map((column) => column.name).join(', ')}.`,
    `Add the column to the query, or correct ${setting}.`,
    /^\w+$/.test(setting) ? { field: setting } : {},
  )
}

/** Values of the order columns of a row, as database text. Compared by the database only, never in JavaScript. */
export type Cursor = readonly string[]

/** The order in which a pass reads the rows of a query. */
export interface Order {
  readonly columns: readonly Column[]
}

/** A query as a relation called `source`. */
export function asRelation(query: string): string {
  return `(\n${withoutEnding(query)}\n) AS source`
}

/** Quoted texts and names, comments, blanks: tokens that must be recognized to find the end of a statement. */
const PIECES =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?:[A-Za-z_]\w*)?\$|--[^\n]*|\/\*[\s\S]*?\*\/|\s+|;|\w+|./gs
const NOTHING = /^(?:--|\/\*|\s|;)/

/** Without trailing semicolons, comments and blanks, because a parenthesis follows. */
function withoutEnding(query: string): string {
  let end = 0
  PIECES.lastIndex = 0
  for (let piece = PIECES.exec(query); piece !== null; piece = PIECES.exec(query)) {
    const [text] = piece
    if (NOTHING.test(text)) continue
    const closing = /^\$\w*\$$/.test(text) ? query.indexOf(text, PIECES.lastIndex) : -1
    if (closing >= 0) PIECES.lastIndex = closing + text.length
    end = PIECES.lastIndex
  }
  return query.slice(0, end)
}

export function columnList(columns: readonly { readonly name: string }[], prefix = ''): string {
  return columns.map((column) => prefix + quoteIdentifier(column.name)).join(', ')
}

export function orderBy(order: Order, direction: 'ASC' | 'DESC' = 'ASC'): string {
  return order.columns.map((column) => `${quoteIdentifier(column.name)} ${direction}`).join(', ')
}

/**
 * `(k, id) > ('…'::timestamptz, '…'::uuid)`: literals with their type, so that the planner sees their values.
 * A cursor shorter than the order refers to the first columns only.
 */
export function beyond(order: Order, operator: '>' | '<=', cursor: Cursor): string {
  const columns = order.columns.slice(0, cursor.length)
  const values = columns.map((column, index) => `${quoteLiteral(cursor[index]!)}::${column.type}`)
  return `ROW(${columnList(columns)}) ${operator} ROW(${values.join(', ')})`
}

export function range(order: Order, after: Cursor | null, upTo: Cursor | null): string[] {
  return [
    ...(after === null ? [] : [beyond(order, '>', after)]),
    ...(upTo === null ? [] : [beyond(order, '<=', upTo)]),
  ]
}

export function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

/** The order columns of a row as text, aliased k0, k1, … */
export function cursorColumns(order: Order): string {
  return order.columns.map((column, index) => `${quoteIdentifier(column.name)}::text AS k${index}`).join(', ')
}

export function cursorOf(row: Record<string, string | null>, order: Order): Cursor {
  return order.columns.map((_, index) => row[`k${index}`]!)
}
