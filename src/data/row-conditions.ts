import { quoteIdentifier } from '../sql/identifiers.js'
import type { FilterCondition } from './filter.js'
import type { MartTable, MartTableColumn } from './mart-table.js'
import { type OrderPart, orderPart, type PagePosition, type RowOrder, unknownColumn } from './row-order.js'

/** The parameters of a statement, in order. */
export class Parameters {
  readonly values: string[] = []

  /** The text as a value of a type: through text, so that the server parses it as it parses a literal. */
  add(value: string, type: string): string {
    this.values.push(value)
    return `($${this.values.length}::text)${type === 'text' ? '' : `::${type}`}`
  }
}

/** SQL that is true for the rows of a filter. */
export function filterSql(
  conditions: readonly FilterCondition[],
  { columns }: MartTable,
  parameters: Parameters,
): string[] {
  return conditions.map((condition) => {
    const column = columns.find(({ name }) => name === condition.column)
    if (column === undefined) throw unknownColumn('filter', condition.column, columns)
    return conditionSql(condition, column, parameters)
  })
}

function conditionSql(condition: FilterCondition, column: MartTableColumn, parameters: Parameters): string {
  const { sql, castType } = orderPart(column)
  const not = 'not' in condition && condition.not ? 'NOT ' : ''
  switch (condition.kind) {
    case 'null':
      return `${quoteIdentifier(column.name)} IS ${not}NULL`
    case 'compare': {
      const operator = condition.operator === '!=' ? '<>' : condition.operator
      return `${sql} ${operator} ${parameters.add(condition.value, castType)}`
    }
    case 'in': {
      const values = condition.values.map((value) => parameters.add(value, castType))
      return `${sql} ${not}IN (${values.join(', ')})`
    }
    case 'contains': {
      // strpos rejects collations for which different texts are equal; the default one is never of that kind.
      const text = `lower(${quoteIdentifier(column.name)}::text COLLATE pg_catalog."default")`
      return `${not}strpos(${text}, lower(${parameters.add(condition.value, 'text')} COLLATE pg_catalog."default")) > 0`
    }
  }
}

/**
 * The rows after a place, in one or two portions that follow each other: PostgreSQL sorts NULL after all values, and a
 * single condition for both could not use an index.
 */
export interface PagePart {
  readonly where: (parameters: Parameters) => string[]
}

export function portionsAfter(order: RowOrder, place: PagePosition | null): PagePart[] {
  const { chosen } = order
  if (chosen === null) return [{ where: (parameters) => afterUnique(order, place, parameters) }]
  if (!chosen.mayBeNull) return [values(order, chosen, place)]
  const nulls: PagePart = {
    where: (parameters) => [
      `${chosen.sql} IS NULL`,
      ...(place?.chosen === null ? afterUnique(order, place, parameters) : []),
    ],
  }
  const filled = values(order, chosen, place?.chosen === null ? null : place)
  const notNull: PagePart = {
    where: (parameters) => [`${chosen.sql} IS NOT NULL`, ...filled.where(parameters)],
  }
  if (order.direction === 'asc') return place?.chosen === null && place !== null ? [nulls] : [notNull, nulls]
  return place !== null && place.chosen !== null ? [notNull] : [nulls, notNull]
}

function values(order: RowOrder, chosen: OrderPart, place: PagePosition | null): PagePart {
  return {
    where: (parameters) => {
      if (place === null || place.chosen === null) return []
      const sign = order.direction === 'asc' ? '>' : '<'
      const at = () => parameters.add(place.chosen!, chosen.castType)
      const [after] = afterUnique(order, place, parameters)
      // The first condition alone finds the beginning in an index.
      return [`${chosen.sql} ${sign}= ${at()}`, `(${chosen.sql} ${sign} ${at()} OR ${after})`]
    },
  }
}

function afterUnique(
  { unique, direction }: RowOrder,
  place: PagePosition | null,
  parameters: Parameters,
): string[] {
  if (place === null) return []
  const sign = direction === 'asc' ? '>' : '<'
  const there = unique.map(({ castType }, n) => parameters.add(place.unique[n]!, castType))
  return [`(${unique.map(({ sql }) => sql).join(', ')}) ${sign} (${there.join(', ')})`]
}

/** PostgreSQL's own order of NULL in both directions, so that one index serves both. */
export function orderBySql({ chosen, unique, direction }: RowOrder): string {
  const parts = [...(chosen === null ? [] : [chosen]), ...unique]
  return parts.map(({ sql }) => `${sql} ${direction.toUpperCase()}`).join(', ')
}
