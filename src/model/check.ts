import './plain-issues.js'
import { z } from 'zod'
import type { Mistake } from './errors.js'
import { intervalMs } from './schedule.js'
import { isTooLong, LONGEST_NAME, readTableName } from './table-name.js'
import { line, text } from './text.js'

export const CHECK_TYPES = [
  'not_null',
  'unique',
  'accepted_values',
  'range',
  'relationship',
  'row_count',
  'freshness',
  'expression',
] as const
export type CheckType = (typeof CHECK_TYPES)[number]

/** warn: only recorded. fail: the batch is rolled back and the run fails. quarantine: the rows are set aside. */
export const ON_FAILURE = ['warn', 'fail', 'quarantine'] as const
export type OnFailure = (typeof ON_FAILURE)[number]

export const OVER = ['batch', 'mart'] as const
/** batch: the rows of a batch before they are written. mart: all rows of the mart as the run leaves them. */
export type Over = (typeof OVER)[number]

const MOST_CHECKS = 50
/** Results before this one that decide what is usual, and how many of them are needed. */
export const USUAL_RUNS = 10
export const LEAST_USUAL_RUNS = 3
/** Keys of rows that a result shows. */
export const SAMPLE_SIZE = 5

const column = line(200).refine((name) => !isTooLong(name), {
  error: `must not be longer than ${LONGEST_NAME} bytes: PostgreSQL truncates longer names`,
})
const oneColumn = column.describe('The column to check.')
const columns = z.array(column).min(1).max(32)
const value = z.union([text(0, 1000), z.number(), z.boolean()], {
  error: 'must be text, a number or true/false',
})
const bound = z.union([z.number(), line(200)], { error: 'must be a number or text' })
const over = z
  .enum(OVER)
  .optional()
  .describe('batch: the rows of each batch before they are written. mart: all rows of the mart.')

const common = {
  name: line(100).describe('A name that is unique in the pipeline.'),
  on_failure: z
    .enum(ON_FAILURE)
    .default('fail')
    .describe(
      'warn records the result, fail rolls the batch back and fails the run, quarantine sets the rows aside.',
    ),
}
const oneOrSeveral = {
  column: column.optional().describe('The column to check.'),
  columns: columns.optional().describe('Several columns instead of one.'),
}

function shape<T extends CheckType, S extends z.ZodRawShape>(type: T, fields: S) {
  return z.strictObject({
    name: common.name,
    type: z.literal(type).describe('What is checked.'),
    ...fields,
    on_failure: common.on_failure,
  })
}

/** One check of a pipeline, as requests, files and the database have it. */
export const checkSchema = z
  .discriminatedUnion(
    'type',
    [
      shape('not_null', oneOrSeveral),
      shape('unique', { ...oneOrSeveral, over }),
      shape('accepted_values', {
        column: oneColumn,
        values: z.array(value).min(1).max(1000).describe('The values that the column may have.'),
      }),
      shape('range', {
        column: oneColumn,
        min: bound.optional().describe('The lowest allowed value.'),
        max: bound.optional().describe('The highest allowed value.'),
      }),
      shape('relationship', {
        ...oneOrSeveral,
        to: line(300).describe('The table that must contain the values, as schema.table.'),
        to_column: column.optional().describe('Its column. Absent: the column of the same name.'),
        to_columns: columns.optional().describe('Several columns instead of one.'),
        over,
      }),
      shape('row_count', {
        min: z.int().min(0).optional().describe('The lowest allowed number of rows.'),
        max: z.int().min(0).optional().describe('The highest allowed number of rows.'),
        usual: z
          .number()
          .gt(0)
          .max(1000)
          .optional()
          .describe(
            `How many percent the number of rows may differ from the median of the last ${USUAL_RUNS} results.`,
          ),
      }),
      shape('freshness', {
        column: oneColumn,
        max_age: line(50)
          .refine((age) => intervalMs(age) !== null, {
            error: 'must be an interval such as 15m, 1h30m or PT15M',
          })
          .describe('The highest allowed age of the newest value, such as 15m, 6h or 2d.'),
      }),
      shape('expression', {
        sql: text(1, 10_000).describe(
          'A condition on the columns of a row, such as rating <= 10. Over the mart it may use aggregates. A row passes unless it is false.',
        ),
        over,
      }),
    ],
    { error: `must have a type: ${CHECK_TYPES.join(', ')}` },
  )
  .meta({ id: 'Check' })

export type Check = z.output<typeof checkSchema>

/** The checks of a pipeline, with what involves more than one field of a check. */
export const checksSchema = z
  .array(checkSchema)
  .max(MOST_CHECKS)
  .superRefine((checks, context) => {
    for (const { field, message } of checkMistakes(checks))
      context.addIssue({ code: 'custom', path: field, message })
  })

interface CheckMistake {
  readonly field: (string | number)[]
  readonly message: string
}

function checkMistakes(checks: readonly Check[]): CheckMistake[] {
  return checks.flatMap((check, place) => [
    ...(checks.slice(0, place).some(({ name }) => name === check.name)
      ? [{ field: [place, 'name'], message: `is the name of another check: "${check.name}"` }]
      : []),
    ...shapeMistakes(check).map(([field, message]) => ({ field: [place, field], message })),
  ])
}

function shapeMistakes(check: Check): [string, string][] {
  const found: [string, string][] = []
  if (
    'columns' in check ||
    check.type === 'not_null' ||
    check.type === 'unique' ||
    check.type === 'relationship'
  )
    found.push(...columnMistakes(check as { column?: string; columns?: string[] }))
  if (check.type === 'range') found.push(...rangeMistakes(check))
  if (check.type === 'row_count') found.push(...countMistakes(check))
  if (check.type === 'relationship') found.push(...relationshipMistakes(check))
  if (check.on_failure === 'quarantine' && overOf(check) === 'mart')
    found.push([
      'on_failure',
      `cannot be quarantine: ${check.type} ${isAlwaysOverMart(check.type) ? 'is about the whole mart' : 'with over: mart is about rows that are written already'}. Choose warn or fail`,
    ])
  return found
}

function columnMistakes({
  column: one,
  columns: several,
}: {
  column?: string
  columns?: string[]
}): [string, string][] {
  if (one === undefined && several === undefined) return [['column', 'is required']]
  if (one !== undefined && several !== undefined) return [['columns', 'cannot be combined with column']]
  return several !== undefined && new Set(several).size < several.length
    ? [['columns', 'must contain each column once']]
    : []
}

/** Texts are compared by the type of their column, which is not known here. */
function rangeMistakes({ min, max }: Extract<Check, { type: 'range' }>): [string, string][] {
  if (min === undefined && max === undefined) return [['min', 'is required, or max']]
  return typeof min === 'number' && typeof max === 'number' && min > max
    ? [['max', 'must not be less than min']]
    : []
}

function countMistakes({
  min,
  max,
  usual,
}: {
  min?: number
  max?: number
  usual?: number
}): [string, string][] {
  if (min === undefined && max === undefined && usual === undefined)
    return [['min', 'is required, or max, or usual']]
  return min !== undefined && max !== undefined && min > max ? [['max', 'must not be less than min']] : []
}

function relationshipMistakes(check: Extract<Check, { type: 'relationship' }>): [string, string][] {
  if (readTableName(check.to) === null)
    return [['to', 'must be a table with its schema, such as analytics.film_dim']]
  if (check.to_column !== undefined && check.to_columns !== undefined)
    return [['to_columns', 'cannot be combined with to_column']]
  return toColumnsOf(check).length === checkedColumns(check).length
    ? []
    : [['to_columns', 'must have as many columns as the check']]
}

/** The columns that a check names. */
export function checkedColumns(check: Check): readonly string[] {
  if ('columns' in check && check.columns !== undefined) return check.columns
  return 'column' in check && check.column !== undefined ? [check.column] : []
}

/** The columns of the other table, in the same order. */
export function toColumnsOf(check: Extract<Check, { type: 'relationship' }>): readonly string[] {
  return check.to_columns ?? (check.to_column === undefined ? checkedColumns(check) : [check.to_column])
}

function isAlwaysOverMart(type: CheckType): boolean {
  return type === 'row_count' || type === 'freshness'
}

/**
 * What a check is evaluated over. `unique` is about the mart unless rows are to be set aside, which is possible only
 * before they are written, or the mart is not a table.
 */
export function overOf(check: Check, isTable = true): Over {
  if (isAlwaysOverMart(check.type)) return 'mart'
  if ('over' in check && check.over !== undefined) return check.over
  return check.type === 'unique' && check.on_failure !== 'quarantine' && isTable ? 'mart' : 'batch'
}

/** Only a table of PostgreSQL can be queried as a whole. */
export function sinkMistakes(checks: readonly Check[], address: string): Mistake[] {
  return checks.flatMap((check, place) =>
    overOf(check, false) === 'batch'
      ? []
      : [
          {
            field: `checks.${place}`,
            code: 'CHECK_UNSUPPORTED',
            message: `"${check.name}" (${check.type}) is evaluated over the mart, which is possible for tables only: ${address} supports checks of rows`,
          },
        ],
  )
}

export const CHECK_STATUSES = ['passed', 'warned', 'quarantined', 'failed', 'error'] as const
/** error: the check could not be evaluated. */
export type CheckStatus = (typeof CHECK_STATUSES)[number]

/** What a check found in a batch or in a mart. */
export interface CheckResult {
  readonly name: string
  readonly type: CheckType
  readonly over: Over
  readonly onFailure: OnFailure
  readonly status: CheckStatus
  readonly failedRows: number
  /** Keys of rows that failed, at most five. */
  readonly sample: readonly string[]
  /** What was compared with the limits: a number of rows, an age in seconds; null: rows were checked one by one. */
  readonly observed: number | null
  /** What is wrong, in words; empty: nothing. */
  readonly message: string
  readonly durationMs: number
}

/** A configured check and what it found, newest first. */
export interface CheckState {
  readonly pipelineId: string
  readonly pipelineName: string
  readonly check: Check
  readonly results: readonly (Pick<
    CheckResult,
    'status' | 'failedRows' | 'sample' | 'observed' | 'message' | 'durationMs' | 'over'
  > & {
    /** Null: it was requested without a run. */
    readonly runId: string | null
    readonly checkedAt: string
  })[]
}

/** What a result with failures means for the run. */
export function statusOf(onFailure: OnFailure): Exclude<CheckStatus, 'passed' | 'error'> {
  return onFailure === 'warn' ? 'warned' : onFailure === 'quarantine' ? 'quarantined' : 'failed'
}

/** Ends the run. */
export function isFatal({ status, onFailure }: Pick<CheckResult, 'status' | 'onFailure'>): boolean {
  return status === 'failed' || (status === 'error' && onFailure !== 'warn')
}

/** Results of several portions of the same rows. */
export function addResults(a: readonly CheckResult[], b: readonly CheckResult[]): CheckResult[] {
  const names = [...new Set([...a, ...b].map(({ name }) => name))]
  return names.map((name) => {
    const [first, ...more] = [...a, ...b].filter((result) => result.name === name)
    return more.reduce(
      (sum, result) => ({
        ...(result.status === 'passed' ? sum : result),
        failedRows: sum.failedRows + result.failedRows,
        sample: [...sum.sample, ...result.sample].slice(0, SAMPLE_SIZE),
        durationMs: sum.durationMs + result.durationMs,
      }),
      first!,
    )
  })
}

/** What is wrong with a row that fails a check, as a sentence. */
export function failureText(check: Check): string {
  const columns = checkedColumns(check)
  const names = columns.length > 1 ? `(${columns.join(', ')})` : columns.join('')
  switch (check.type) {
    case 'not_null':
      return `${columns.join(' or ')} is NULL.`
    case 'unique':
      return `${names} occurs more than once.`
    case 'accepted_values':
      return `${names} is none of ${check.values.slice(0, 10).join(', ')}${check.values.length > 10 ? ', …' : ''}.`
    case 'range':
      return `${names} is ${[
        ...(check.min === undefined ? [] : [`less than ${check.min}`]),
        ...(check.max === undefined ? [] : [`greater than ${check.max}`]),
      ].join(' or ')}.`
    case 'relationship':
      return `${names} has no row in ${check.to} (${toColumnsOf(check).join(', ')}).`
    case 'expression':
      return `The condition is false: ${check.sql}`
    default:
      return ''
  }
}

/** The order of the fields in the schemas above. */
const FIELD_ORDER = [
  'name',
  'type',
  'column',
  'columns',
  'values',
  'min',
  'max',
  'to',
  'to_column',
  'to_columns',
  'usual',
  'max_age',
  'sql',
  'over',
  'on_failure',
]

/** The database does not keep the order of the fields; a comparison with a file must not find a difference. */
export function inFieldOrder(checks: readonly Check[]): Check[] {
  return checks.map((check) => {
    const entries = Object.entries(check)
    return Object.fromEntries(
      entries.toSorted(([a], [b]) => FIELD_ORDER.indexOf(a) - FIELD_ORDER.indexOf(b)),
    ) as Check
  })
}
