import { type Check, checkedColumns, toColumnsOf } from '../model/check.js'
import { readTableName } from '../model/table-name.js'
import { quoteIdentifier, quoteLiteral, quoteTable } from '../sql/identifiers.js'

/** A column that a check can name, with its type as the database writes it. */
export interface CheckedColumn {
  readonly name: string
  readonly type: string
}

/** A condition on a row of the relation `batch`. */
export interface RowCondition {
  /** True: the row passes. Never NULL. */
  readonly passes: string
  /** An expression over all rows of the relation that `passes` needs, with the name that it uses. */
  readonly window: { readonly sql: string; readonly name: string } | null
  /** What `passes` needs of another table: a join that keeps the rows and their order, and the name of its column. */
  readonly lookup: { readonly join: string; readonly sql: string; readonly name: string } | null
}

export interface ConditionOptions {
  /** Makes names unique. */
  readonly place: number
  /** The other table of a relationship is large and has an index on the columns: its rows are looked up one by one. */
  readonly looksUp: boolean
}

const TEXT_TYPE = /^(?:text|character varying|character|"char"|name|bpchar)(?:\(\d+\))?$/
const WHOLE_TYPE = /^(?:smallint|integer|bigint)$/
const SMALL_WHOLE = /^-?\d{1,4}$/

/** The condition of a check of rows; null: it is about the mart as a whole. */
export function conditionOf(
  check: Check,
  types: ReadonlyMap<string, string>,
  { place, looksUp }: ConditionOptions,
): RowCondition | null {
  switch (check.type) {
    case 'not_null':
      // Not IS NOT NULL: that is false for a composite value with one NULL inside.
      return plain(checkedColumns(check).map((name) => `${ref(name)} IS DISTINCT FROM NULL`))
    case 'accepted_values':
      return plain([unlessNull(check.column, accepted(check, typeOf(types, check.column)))])
    case 'range':
      return plain(rangeOf(check, typeOf(types, check.column)))
    case 'relationship':
      return looksUp
        ? lookedUp(check, `vitrina_related_${place}`)
        : plain([`(${isNullIn(checkedColumns(check))} OR EXISTS (SELECT ${related(check)}))`])
    case 'unique':
      return uniqueOf(checkedColumns(check), `vitrina_same_${place}`)
    case 'expression':
      // On separate lines: it may end with a comment.
      return plain([`(\n${check.sql}\n) IS NOT FALSE`])
    default:
      return null
  }
}

function plain(conditions: readonly string[]): RowCondition {
  return { passes: conditions.join(' AND '), window: null, lookup: null }
}

function typeOf(types: ReadonlyMap<string, string>, column: string): string {
  return types.get(column) ?? 'text'
}

function ref(name: string): string {
  return `batch.${quoteIdentifier(name)}`
}

function isNullIn(names: readonly string[]): string {
  return names.map((name) => `${ref(name)} IS NULL`).join(' OR ')
}

function unlessNull(column: string, condition: string): string {
  return `(${ref(column)} IS NULL OR ${condition})`
}

/** Text is compared byte by byte, whatever the collation of the database. */
function compared(column: string, type: string): string {
  return TEXT_TYPE.test(type) ? `${ref(column)}::text COLLATE "C"` : ref(column)
}

/** In the type of the column, without its length: 9.999 must not become 10.00 before it is compared. */
function literal(value: string | number | boolean, type: string): string {
  const text = String(value)
  if (TEXT_TYPE.test(type)) return `${quoteLiteral(text)}::text`
  // A fraction, or more than the type holds, is a valid limit.
  if (WHOLE_TYPE.test(type)) return `${quoteLiteral(text)}::${SMALL_WHOLE.test(text) ? type : 'numeric'}`
  return `${quoteLiteral(text)}::${type.replace(/\(\d+(?:,-?\d+)?\)/, '')}`
}

function accepted(check: Extract<Check, { type: 'accepted_values' }>, type: string): string {
  const values = check.values.map((value) => literal(value, type))
  return `${compared(check.column, type)} IN (${values.join(', ')})`
}

function rangeOf({ column, min, max }: Extract<Check, { type: 'range' }>, type: string): string[] {
  const within = [
    ...(min === undefined ? [] : [`${compared(column, type)} >= ${literal(min, type)}`]),
    ...(max === undefined ? [] : [`${compared(column, type)} <= ${literal(max, type)}`]),
  ]
  return [unlessNull(column, within.join(' AND '))]
}

/** True in SQL: no value of this type is within the limits. */
export function isReversed(min: string | number, max: string | number, type: string): string {
  const collation = TEXT_TYPE.test(type) ? ' COLLATE "C"' : ''
  return `(${literal(min, type)}${collation} > ${literal(max, type)}${collation})`
}

type Relationship = Extract<Check, { type: 'relationship' }>

/**
 * For EXISTS the planner hashes the whole table, once for each batch: for a table of 2 million rows 500 ms of CPU, five
 * times the insert of 100,000 rows. LIMIT keeps it from turning this into such a join; repeated values are remembered
 * (Memoize): 20 ms with 5,000 distinct values that the statistics know, else an index scan for each row (90 ms).
 */
function lookedUp(check: Relationship, name: string): RowCondition {
  const join = `LEFT JOIN LATERAL (SELECT true AS found ${related(check)} LIMIT 1) AS ${name} ON true`
  return {
    passes: `(${isNullIn(checkedColumns(check))} OR batch.${name} IS TRUE)`,
    window: null,
    lookup: { join, sql: `${name}.found`, name },
  }
}

function related(check: Relationship): string {
  const table = readTableName(check.to)
  const names = toColumnsOf(check)
  const same = checkedColumns(check).map(
    (name, place) => `related.${quoteIdentifier(names[place] ?? name)} = ${ref(name)}`,
  )
  return `FROM ${table === null ? quoteIdentifier(check.to) : quoteTable(table)} AS related WHERE ${same.join(' AND ')}`
}

function uniqueOf(names: readonly string[], name: string): RowCondition {
  const by = names.map((column) => ref(column)).join(', ')
  return {
    passes: `(${isNullIn(names)} OR batch.${name} = 1)`,
    window: { sql: `count(*) OVER (PARTITION BY ${by})`, name },
    lookup: null,
  }
}
