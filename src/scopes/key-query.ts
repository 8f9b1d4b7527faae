import { quoteIdentifier, quoteList, quoteTable } from '../sql/identifiers.js'
import type { BaseColumn, BaseExpression, LinkCondition, Occurrence } from './alternative.js'
import { plainUse } from './column-meaning.js'
import type { TableColumn } from './query-facts.js'
import { isSafeCast } from './safe-cast.js'
import { type ScopePath, usesOf } from './scope-path.js'
import type { ImageParameter, KeyQuery } from './scope-trace.js'
import { writeExpression } from './write-expression.js'

/** Writes a path as SQL; `types` are those of the scope columns. */
export function keyQueryOf(path: ScopePath, types: readonly string[]): KeyQuery {
  const parameters: ImageParameter[] = []
  const alias = new Map(path.occurrences.map(({ id }, place) => [id, `o${place}`]))
  const column = (use: BaseColumn) => `${alias.get(use.occurrence)}.${quoteIdentifier(use.column)}`
  const from = path.occurrences.flatMap((occurrence, place) => {
    if (occurrence.call !== null)
      return [
        `${written(occurrence.call, column)}${asRows(occurrence)} o${place}(${quoteList([...occurrence.table.columns.keys()])})`,
      ]
    const columns = neededColumns(path, occurrence)
    // The scope is a constant: that there is a change is all that matters.
    if (columns.length === 0) return []
    const images = imagesOf({ occurrence, columns, parameters }, place === 0 ? 'changed' : 'old')
    return [`${place === 0 ? `(${images})` : withOldImages(occurrence, columns, images)} o${place}`]
  })
  const where = path.conditions.map(
    ({ operator, left, right }) => `${written(left, column)} ${operator} ${written(right, column)}`,
  )
  const keys = path.scope.map((each, place) => `(${written(each, column)})::${types[place]} AS k${place}`)
  const found = [
    `SELECT ${keys.join(', ')}`,
    ...(from.length === 0 ? [] : [`FROM ${from.join(', ')}`]),
    ...(where.length === 0 ? [] : [`WHERE ${where.join(' AND ')}`]),
  ].join(' ')
  return {
    // Not ::text, which writes some types in another way than COPY does: boolean, char(n), inet.
    text: `SELECT DISTINCT ${keys.map((_, place) => `concat(s.k${place}) AS k${place}`).join(', ')} FROM (${found}) s WHERE ${keys.map((_, place) => `s.k${place} IS NOT NULL`).join(' AND ')}`,
    parameters,
    reads: path.occurrences.slice(1).flatMap(({ table, call }) => (call === null ? table.name : [])),
    mayFail:
      path.occurrences.some(({ call }) => call !== null) ||
      path.scope.some((each) => !cannotFail(each, path.occurrences)),
  }
}

function asRows({ call }: Occurrence): string {
  return call?.hasOrdinality ? ' WITH ORDINALITY AS' : ' AS'
}

function cannotFail(value: BaseExpression, occurrences: readonly Occurrence[]): boolean {
  if (value.uses.length === 0) return true
  const use = plainUse(value)
  const column = occurrences.find(({ id }) => id === use?.occurrence)?.table.columns.get(use?.column ?? '')
  return column !== undefined && isSafeCast(value, column.type)
}

function written({ node }: BaseExpression, column: (use: BaseColumn) => string): string {
  const text = writeExpression(node, column)
  if (text === null) throw new Error('An expression that was accepted cannot be written.')
  return text
}

/** In the order of the table, so that the same path has the same text. */
function neededColumns(
  { occurrences, conditions, scope }: ScopePath,
  { id, table }: Occurrence,
): TableColumn[] {
  const uses = [
    ...occurrences.flatMap(({ call }) => call?.uses ?? []),
    ...conditions.flatMap((each: LinkCondition) => usesOf(each)),
    ...scope.flatMap(({ uses }) => uses),
  ]
  const names = new Set(uses.filter(({ occurrence }) => occurrence === id).map(({ column }) => column))
  return [...table.columns.values()].filter(({ name }) => names.has(name))
}

interface Images {
  readonly occurrence: Occurrence
  readonly columns: readonly TableColumn[]
  /** Filled here. */
  readonly parameters: ImageParameter[]
}

/** `unnest` of a known array gives the planner the number of rows; a function over JSON would not. */
function imagesOf({ occurrence, columns, parameters }: Images, images: ImageParameter['images']): string {
  const { name: table, capturedAs } = occurrence.table
  const arrays = columns.map(({ name }) => {
    parameters.push({ table, capturedAs, column: name, images })
    return `$${parameters.length}::text[]`
  })
  const values = columns.map(({ name, type, collation }, place) => {
    const collate = collation === null ? '' : ` COLLATE ${collation}`
    return `u.c${place}::${type}${collate} AS ${quoteIdentifier(name)}`
  })
  const names = columns.map((_, place) => `c${place}`)
  return `SELECT ${values.join(', ')} FROM unnest(${arrays.join(', ')}) AS u(${names.join(', ')})`
}

/**
 * A row combination that is gone may have lost several rows in the same transactions, so that each table is joined with
 * its old images as well. OFFSET 0 is vital: without it the planner cannot push the join's column into the UNION ALL and
 * scans the table (949 blocks instead of 21).
 */
function withOldImages(
  { table, isOnly }: Occurrence,
  columns: readonly TableColumn[],
  images: string,
): string {
  const names = quoteList(columns.map(({ name }) => name))
  return `(SELECT ${names} FROM ${isOnly && table.hasChildren ? 'ONLY ' : ''}${quoteTable(table.name)} UNION ALL (${images} OFFSET 0))`
}

export type Image = Readonly<Record<string, string | null>>

/** The parameters' values. `imagesOf` gives the images of a table by the name under which they were captured. */
export function keyQueryValues(
  { parameters }: KeyQuery,
  imagesOf: (parameter: ImageParameter) => readonly Image[],
): (string | null)[][] {
  return parameters.map((parameter) => imagesOf(parameter).map((image) => image[parameter.column] ?? null))
}
