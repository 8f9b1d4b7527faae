import { z } from 'zod'
import type { KeptProfile, MartRows, SuggestedCheck } from '../../model/mart-data.js'
import { text } from '../../model/text.js'
import { PROFILE_EXAMPLE, ROWS_EXAMPLE } from './examples.js'
import { flag, pageQuery } from './page.js'
import { toWire } from './to-wire.js'

const FILTER = `Conditions joined by "and", each a column, an operator and a value: \`rating >= 8 and title contains 'star'\`. Operators: = != < <= > >=, contains, not contains, in (…), not in (…), is null, is not null. "contains" ignores case.`

export const rowsQuery = z.strictObject({
  limit: pageQuery.limit.describe('The maximum number of rows.'),
  cursor: z.string().min(1).max(8000).optional().describe('next_cursor of the previous page.'),
  sort: text(1, 200)
    .optional()
    .describe(
      'The column to sort by, for descending order with "-" before its name. Absent: by the key. NULL comes last, in descending order first.',
    ),
  filter: text(0, 4000).optional().describe(FILTER),
})

const column = z.object({
  name: z.string().describe('The name of the column.'),
  type: z.string().describe('Its PostgreSQL type.'),
  is_key: z.boolean().describe('Whether it is part of the key of the mart.'),
  not_null: z.boolean().describe('Whether the database guarantees that it is not NULL.'),
})

const hiddenColumns = z
  .array(z.string())
  .describe('Columns that the login of the API may not read; they are left out.')

export const rowsWire = z
  .object({
    columns: z.array(column).describe('The columns of the mart.'),
    hidden_columns: hiddenColumns,
    rows: z
      .array(z.record(z.string(), z.string().nullable()))
      .describe('Each value as the text that PostgreSQL writes, without loss; times in UTC.'),
    cut: z
      .array(
        z.object({
          row: z.number().describe('The index of the row in this page, starting at 0.'),
          column: z.string().describe('The column.'),
          length: z.number().describe('The whole length of the value: characters, for bytea bytes.'),
        }),
      )
      .describe('Values of which only the beginning is shown.'),
    sort: z
      .object({
        column: z.string().describe('The column.'),
        direction: z.enum(['asc', 'desc']).describe('The direction.'),
      })
      .nullable()
      .describe('The order of the rows; null: by the key.'),
    rows_estimate: z.number().describe('The estimated number of rows in the mart, without the filter.'),
    next_cursor: z
      .string()
      .nullable()
      .describe('Send it as cursor, with the same sort and filter, to get the next page; null at the end.'),
  })
  .meta({ id: 'MartRows', examples: [ROWS_EXAMPLE] })

export function rowsToWire(page: MartRows) {
  const { columns } = page
  return toWire(rowsWire, page, {
    columns: columns.map((one) => toWire(column, one)),
    rows: page.rows.map((row) => Object.fromEntries(columns.map((one, n) => [one.name, row[n] ?? null]))),
  })
}

export const profileQuery = z.strictObject({
  refresh: flag().default(false).describe('Compute the profile again.'),
})

const bucket = z.object({
  from: z.string().describe('The lower bound, included.'),
  to: z.string().describe('The upper bound, excluded except in the last bucket.'),
  count: z.number().describe('The number of examined rows.'),
})

const columnProfile = column.extend({
  skipped: z.string().nullable().describe('Why the column was not examined; null: it was.'),
  nulls: z.number().describe('The number of rows without a value; scaled up if rows were sampled.'),
  nulls_exact: z.boolean().describe('Whether it was counted.'),
  distinct: z.number().describe('The number of different values; estimated if rows were sampled.'),
  distinct_exact: z.boolean().describe('Whether it was counted.'),
  min: z.string().nullable().describe('The lowest value as text; null: none, or a type without an order.'),
  max: z.string().nullable().describe('The highest value as text.'),
  range_exact: z.boolean().describe('Whether they are those of all rows, not only of the sample.'),
  histogram: z.array(bucket).describe('For numbers and times: up to 20 ranges of equal width.'),
  common: z
    .array(
      z.object({
        value: z.string().describe('The value, at most 200 characters of it.'),
        count: z.number().describe('The number of examined rows.'),
      }),
    )
    .describe('For all other types: the most frequent values.'),
  sample: z.array(z.string()).describe('Some values.'),
})

const suggestedCheck = z.object({
  name: z.string().describe('A name for the check.'),
  type: z
    .enum(['not_null', 'unique', 'accepted_values', 'range', 'row_count'])
    .describe('The type of the check.'),
  column: z.string().optional().describe('The column; absent for row_count.'),
  values: z.array(z.string()).optional().describe('For accepted_values.'),
  min: z.number().optional().describe('For range and row_count.'),
  max: z.number().optional().describe('For range.'),
  on_failure: z.enum(['warn', 'fail', 'quarantine']).describe('The reaction to a failure.'),
})

export const profileWire = z
  .object({
    pipeline_id: z.string().describe('The id of the pipeline.'),
    target_table: z.string().describe('The mart that was examined.'),
    computed_at: z.string().describe('When the profile was computed.'),
    duration_ms: z.number().describe('How long it took.'),
    config_version: z.number().describe('The version of the configuration at that time.'),
    outdated: z.boolean().describe('Whether a run has changed rows since, or the target has changed.'),
    rows: z.number().describe('The number of rows in the mart.'),
    rows_exact: z.boolean().describe('Whether they were counted.'),
    rows_examined: z.number().describe('The number of rows that the profile was computed from.'),
    sample_percent: z
      .number()
      .nullable()
      .describe('The percentage of the blocks of a large mart that were read; null: every row was read.'),
    columns: z.array(columnProfile).describe('The columns of the mart.'),
    hidden_columns: hiddenColumns,
    suggested_checks: z
      .array(suggestedCheck)
      .describe('Checks that the mart passes now, in the shape of the field checks of a pipeline.'),
  })
  .meta({ id: 'MartProfile', examples: [PROFILE_EXAMPLE] })

export function profileToWire({ profile, ...kept }: KeptProfile) {
  return toWire(
    profileWire,
    { ...kept, ...profile },
    {
      target_table: kept.target,
      columns: profile.columns.map((one) => toWire(columnProfile, one)),
      suggested_checks: profile.suggestedChecks.map(suggestedCheckToWire),
    },
  )
}

/** In the order in which people write the fields; jsonb has its own. */
function suggestedCheckToWire({ name, type, column, values, min, max, ...rest }: SuggestedCheck) {
  return {
    name,
    type,
    ...(column === undefined ? {} : { column }),
    ...(values === undefined ? {} : { values: [...values] }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    on_failure: rest.on_failure,
  }
}
