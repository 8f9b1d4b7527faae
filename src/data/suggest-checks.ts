import type { ColumnProfile, MartProfile, SuggestedCheck } from '../model/mart-data.js'
import { valueType } from '../sql/value-types.js'
import { MOST_PROFILE_CHARACTERS } from './profile-column.js'

/** With fewer rows, a rule that all of them obey may be chance. */
const LEAST_ROWS = 20
/** A value of a closed list occurs this often on average. */
const LEAST_OCCURRENCES = 5

type ProfiledMart = Pick<MartProfile, 'rows' | 'rowsExact' | 'columns'>

/**
 * Checks that the mart passes now. They only warn: whether a regularity is a rule is for a person to decide. What the
 * database already guarantees (NOT NULL, the key) is left out.
 */
export function suggestChecks(profile: ProfiledMart, key: readonly string[]): SuggestedCheck[] {
  if (profile.rows < LEAST_ROWS) return []
  const columns = profile.columns.filter(({ skipped }) => skipped === null)
  return [
    // Half as many rows are more often a mistake upstream than a change of the business.
    { name: 'row_count', type: 'row_count', min: Math.floor(profile.rows / 2), on_failure: 'warn' },
    ...columns.flatMap((column) => ofColumn(column, profile, key)),
  ]
}

function ofColumn(column: ColumnProfile, { rows }: ProfiledMart, key: readonly string[]): SuggestedCheck[] {
  const { name } = column
  const { kind } = valueType(column.type)
  const isOnlyKey = key.length === 1 && key[0] === name
  const found: SuggestedCheck[] = []
  if (column.nullsExact && column.nulls === 0 && !column.notNull)
    found.push({ name: `${name}_not_null`, type: 'not_null', column: name, on_failure: 'warn' })
  const filled = rows - column.nulls
  if (
    UNIQUE_KINDS.has(kind) &&
    !isOnlyKey &&
    column.distinctExact &&
    filled >= LEAST_ROWS &&
    column.distinct === filled
  )
    found.push({ name: `${name}_unique`, type: 'unique', column: name, on_failure: 'warn' })
  const values = acceptedValues(column, filled)
  if (values !== null)
    found.push({ name: `${name}_values`, type: 'accepted_values', column: name, values, on_failure: 'warn' })
  const range = rangeOf(column)
  if (range !== null && !column.isKey && column.distinct > 1)
    found.push({ name: `${name}_range`, type: 'range', column: name, ...range, on_failure: 'warn' })
  return found
}

/** Times and measures are often distinct by chance. */
const UNIQUE_KINDS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'text', 'uuid'])
const LIST_KINDS: ReadonlySet<string> = new Set(['text', 'other'])

function acceptedValues(column: ColumnProfile, filled: number): string[] | null {
  const { common, distinct } = column
  const isList =
    LIST_KINDS.has(valueType(column.type).kind) &&
    column.distinctExact &&
    distinct > 0 &&
    // All values are known, and completely.
    distinct === common.length &&
    common.every(({ value }) => value.length < MOST_PROFILE_CHARACTERS) &&
    filled >= distinct * LEAST_OCCURRENCES
  return isList ? common.map(({ value }) => value).sort() : null
}

/** Bounds that people would write: not below zero if no value is, and round numbers around the rest. */
function rangeOf({ histogram, min, max, rangeExact, type }: ColumnProfile) {
  const [low, high] = [Number(min), Number(max)]
  const isNumber = histogram.length > 0 && NUMBERS.has(valueType(type).kind)
  if (!isNumber || !rangeExact || !Number.isFinite(low) || !Number.isFinite(high)) return null
  return { min: low >= 0 ? 0 : -roundUp(-low), max: high <= 0 ? 0 : roundUp(high) }
}

const NUMBERS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'float4', 'float8', 'numeric'])

/** The next of 1, 2, 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10
  return Number((step * power).toPrecision(12))
}
