import { z } from 'zod'
import type { Drift, Reconciliation } from '../../model/reconcile.js'
import type { Finding, Preview, QueryPlan, SourceTables, Validation } from '../../model/validation.js'
import { redactText } from '../../telemetry/redact.js'
import { PREVIEW_EXAMPLE, RECONCILIATION_EXAMPLE, VALIDATION_EXAMPLE } from './examples.js'
import { flag, pageQuery } from './page.js'
import { line } from './text.js'

const finding = z.object({
  code: z.string().describe('What is wrong, as a name that does not change.'),
  field: z.string().describe('The field it speaks of.'),
  message: z.string().describe('The facts in a sentence.'),
  hint: z.string().describe('What to do about it.'),
  sqlstate: z
    .string()
    .nullable()
    .describe(
      'The SQLSTATE, where PostgreSQL refused something; else null. A viewer gets it instead of the message of the server.',
    ),
  position: z
    .object({
      offset: z.number().describe('From the start of the text, counted from 0.'),
      line: z.number().describe('Counted from 1.'),
      column: z.number().describe('Counted from 1.'),
    })
    .nullable()
    .describe('Where in the text; null when it is about the whole.'),
})

const column = z.object({
  name: z.string().describe('The name of the column.'),
  type: z.string().describe('Its type as PostgreSQL writes it.'),
})

const planWire = z
  .object({
    rows: z.number().describe('How many rows the planner expects the query to give.'),
    total_cost: z.number().describe('What reading them once costs, in the units of the planner.'),
    scans: z
      .array(
        z.object({
          table: z.string().describe('The table, with its schema.'),
          rows: z.number().nullable().describe('Its rows by the statistics; null: never analysed.'),
          filter: z
            .string()
            .nullable()
            .describe('What keeps rows out while it is read; null: all are taken.'),
          is_big: z.boolean().describe('So large that reading all of it is worth a thought.'),
        }),
      )
      .describe('Tables that are read from the first row to the last.'),
    indexes: z
      .array(
        z.object({
          table: z.string().describe('The table that lacks it.'),
          statement: z.string().describe('The statement that makes it.'),
        }),
      )
      .describe('Indexes that would let an incremental run begin where the last one ended.'),
  })
  .nullable()
  .describe('What the planner expects of reading the query once (EXPLAIN); null as long as there are errors.')

export const validateQuery = z.strictObject({
  quick: flag().default(false).describe('Only what can be told without reading rows.'),
})

export const validationWire = z
  .object({
    valid: z.boolean().describe('A run would start.'),
    errors: z.array(finding).describe('What keeps it from starting.'),
    warnings: z.array(finding).describe('What its owner should know.'),
    columns: z.array(column).describe('The columns of the query with their types.'),
    strategy: z.string().describe('sql_full, sql_incremental, tasks_full or tasks_incremental.'),
    way: z.string().nullable().describe('pushdown, relay or rows: how the rows would reach the target.'),
    guarantee: z.string().nullable().describe('What the pipeline promises about lost rows.'),
    reads: z.string().nullable().describe('paged: along an index; once: the whole query for each pass.'),
    creates_target: z.boolean().describe('The first run creates the table.'),
    plan: planWire,
  })
  .meta({ examples: [VALIDATION_EXAMPLE] })

export function validationToWire({ createsTarget, plan, ...rest }: Validation) {
  return {
    ...rest,
    errors: rest.errors.map(findingToWire),
    warnings: rest.warnings.map(findingToWire),
    columns: [...rest.columns],
    creates_target: createsTarget,
    plan: plan === null ? null : planToWire(plan),
  }
}

function findingToWire({ sqlstate = null, message, hint, ...rest }: Finding): z.infer<typeof finding> {
  return { ...rest, message: redactText(message), hint: redactText(hint), sqlstate }
}

function planToWire({ rows, totalCost, scans, indexes }: QueryPlan): z.infer<typeof planWire> {
  return {
    rows,
    total_cost: totalCost,
    scans: scans.map(({ isBig, ...scan }) => ({ ...scan, is_big: isBig })),
    indexes: [...indexes],
  }
}

export const tablesQuery = z.strictObject({
  connection: line(100).optional().describe('A named connection; absent: the main database.'),
})

export const tablesWire = z.object({
  schemas: z.array(z.string()).describe('What ALLOWED_SOURCE_SCHEMAS says.'),
  items: z
    .array(
      z.object({
        schema: z.string().describe('The schema.'),
        name: z.string().describe('The name in it.'),
        kind: z.enum(['table', 'view']).describe('What it is; a materialized view is a view.'),
        rows: z.number().nullable().describe('Its rows by the statistics; null when they say nothing.'),
        columns: z
          .array(column.extend({ not_null: z.boolean().describe('The database vouches for it.') }))
          .describe('In their order.'),
      }),
    )
    .describe('What a query may read, ordered by schema and name.'),
  truncated: z.boolean().describe('There are more than are told.'),
})

export function tablesToWire({ schemas, tables, truncated }: SourceTables): z.infer<typeof tablesWire> {
  return {
    schemas: [...schemas],
    items: tables.map((table) => ({
      ...table,
      columns: table.columns.map(({ notNull, ...rest }) => ({ ...rest, not_null: notNull })),
    })),
    truncated,
  }
}

export const previewQuery = z.strictObject({ limit: pageQuery.limit.describe('How many rows at the most.') })

export const previewWire = z
  .object({
    columns: z.array(column).describe('The columns with their types.'),
    rows: z
      .array(z.record(z.string(), z.string().nullable()))
      .describe('The first rows as they would be written, each value as text.'),
    truncated: z.boolean().describe('Some values were too long to show and are cut here.'),
  })
  .meta({ examples: [PREVIEW_EXAMPLE] })

export function previewToWire({ columns, rows, truncated }: Preview) {
  return {
    columns: [...columns],
    rows: rows.map((row) => Object.fromEntries(columns.map((one, index) => [one.name, row[index] ?? null]))),
    truncated,
  }
}

export const reconcileQuery = z.strictObject({
  deep: flag().default(false).describe('Row by row instead of counts only; needs the role operator.'),
})

const side = z.object({
  count: z.number().describe('How many rows.'),
  min: z.string().nullable().describe('The lowest value of the control field, as text.'),
  max: z.string().nullable().describe('The highest value of the control field, as text.'),
})
const drift = z.object({
  count: z.number().describe('How many rows.'),
  keys: z.array(z.record(z.string(), z.string().nullable())).describe('The keys of some of them.'),
})

export const reconcileWire = z
  .object({
    matches: z.boolean().describe('Nothing differs.'),
    control_field: z.string().describe('The field whose ends are compared.'),
    source: side.describe('What the query gives.'),
    target: side.describe('What the mart holds.'),
    missing: drift.optional().describe('In the source, not in the mart.'),
    extra: drift.optional().describe('In the mart, not in the source.'),
    different: drift.optional().describe('In both, with other values.'),
    on_their_way: z
      .number()
      .optional()
      .describe('Rows that differ because the pipeline has not come to them yet; no drift.'),
    undecided: z
      .number()
      .optional()
      .describe(
        'How many of those might be drift all the same: the source has changed, but the change cannot be followed to a row.',
      ),
  })
  .meta({ examples: [RECONCILIATION_EXAMPLE] })

export function reconcileToWire({ matches, controlField, source, target, deep }: Reconciliation) {
  const summary = { matches, control_field: controlField, source, target }
  if (deep === null) return summary
  const told = ({ count, keys }: Drift) => ({
    count,
    keys: keys.map((key) =>
      Object.fromEntries(deep.keyColumns.map((name, index) => [name, key[index] ?? null])),
    ),
  })
  return {
    ...summary,
    missing: told(deep.missing),
    extra: told(deep.extra),
    different: told(deep.different),
    on_their_way: deep.onTheirWay,
    undecided: deep.undecided,
  }
}

export const repairWire = z.object({
  id: z.string().describe('The id of the pipeline.'),
  rows: z.number().describe('How many rows the run will mend.'),
  run_id: z.string().nullable().describe('The run that mends them; null when nothing differs.'),
  url: z.string().nullable().describe('Where that run can be read.'),
})
