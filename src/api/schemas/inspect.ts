import { z } from 'zod'
import { cutText } from '../../model/cut-text.js'
import type { Drift, Reconciliation } from '../../model/reconcile.js'
import { line } from '../../model/text.js'
import type {
  ChangeTrace,
  Finding,
  Preview,
  QueryPlan,
  SourceTables,
  Validation,
} from '../../model/validation.js'
import { redactText } from '../../telemetry/redact.js'
import { PREVIEW_EXAMPLE, RECONCILIATION_EXAMPLE, VALIDATION_EXAMPLE } from './examples.js'
import { flag, pageQuery } from './page.js'
import { identityToWire, identityWire } from './source.js'

const finding = z.object({
  code: z.string().describe('A stable code for programs.'),
  field: z.string().describe('The field it refers to.'),
  message: z.string().describe('The facts in a sentence.'),
  hint: z.string().describe('How to fix it.'),
  sqlstate: z
    .string()
    .nullable()
    .describe(
      'The SQLSTATE if PostgreSQL rejected something, else null. A viewer gets it instead of the message of the server.',
    ),
  position: z
    .object({
      offset: z.number().describe('The offset in the text, starting at 0.'),
      line: z.number().describe('Starting at 1.'),
      column: z.number().describe('Starting at 1.'),
    })
    .nullable()
    .describe('The position in the text; null if it is about the whole field.'),
})

const column = z.object({
  name: z.string().describe('The name of the column.'),
  type: z.string().describe('Its PostgreSQL type.'),
})

const planWire = z
  .object({
    rows: z.number().describe('The number of rows that the planner expects.'),
    total_cost: z.number().describe('The cost of reading them once, in planner units.'),
    scans: z
      .array(
        z.object({
          table: z.string().describe('The table, with its schema.'),
          rows: z.number().nullable().describe('Its row count from the statistics; null: never analyzed.'),
          filter: z.string().nullable().describe('The condition that filters rows; null: all rows are read.'),
          is_big: z.boolean().describe('Reading the whole table is expensive.'),
        }),
      )
      .describe('Tables that are read in full.'),
    indexes: z
      .array(
        z.object({
          table: z.string().describe('The table that lacks the index.'),
          statement: z.string().describe('The statement that creates it.'),
        }),
      )
      .describe('Indexes that would let an incremental run start where the last one ended.'),
  })
  .nullable()
  .describe('The estimate of the planner for reading the query once (EXPLAIN); null if there are errors.')

const index = z.object({
  table: z.string().describe('The table that lacks the index.'),
  statement: z.string().describe('The statement that creates it.'),
})

const changesWire = z
  .object({
    full: z
      .string()
      .nullable()
      .describe('Why a run that finds changes computes the whole query; null: only what is affected.'),
    scope: z.array(z.string()).describe('The key columns whose rows are recomputed together.'),
    full_cost: z.number().nullable().describe('The cost of the whole query, in planner units.'),
    tables: z
      .array(
        z.object({
          table: z.string().describe('The table, with its schema.'),
          traced: z.boolean().describe('Whether a change of it affects only some rows of the mart.'),
          reason: z.string().nullable().describe('Why not; null: it is traced.'),
          key_queries: z.array(z.string()).describe('The queries from changed rows to affected keys.'),
          cost: z
            .number()
            .nullable()
            .describe('The expected cost of one changed row, in planner units; null: unknown.'),
          scans: z.array(z.string()).describe('Large tables that one changed row makes a run read in full.'),
          indexes: z.array(index).describe('Indexes that would avoid it.'),
          identity: identityWire.nullable().describe('The replica identity; null unless capture is wal.'),
        }),
      )
      .describe('The base tables of the query.'),
    followed: z
      .array(
        z.object({
          table: z.string().describe('The table, with its schema.'),
          column: z.string().describe('The column that grows with every change.'),
        }),
      )
      .describe('For capture key over a join or an aggregate: the columns that are followed.'),
    plan_dependent: z
      .array(
        z.object({ column: z.string().describe('The column.'), reason: z.string().describe('A sentence.') }),
      )
      .describe('Columns whose value may change although no row has changed.'),
  })
  .nullable()
  .describe(
    'How changes of the source are followed to rows of the mart; null if rows are read in the order of a key, or all of them.',
  )

export const validateQuery = z.strictObject({
  quick: flag().default(false).describe('Only check what can be checked without reading rows.'),
})

export const validationWire = z
  .object({
    valid: z.boolean().describe('Whether a run can start.'),
    errors: z.array(finding).describe('Errors that prevent it from starting.'),
    warnings: z.array(finding).describe('Warnings for the owner of the pipeline.'),
    columns: z.array(column).describe('The columns of the query with their types.'),
    strategy: z.string().describe('sql_full, sql_incremental, tasks_full or tasks_incremental.'),
    way: z.string().nullable().describe('pushdown, relay or rows: the route of the rows to the target.'),
    guarantee: z.string().nullable().describe('What the pipeline guarantees about lost rows.'),
    reads: z.string().nullable().describe('paged: along an index; once: the whole query for each pass.'),
    creates_target: z.boolean().describe('Whether the first run creates the table.'),
    plan: planWire,
    changes: changesWire,
  })
  .meta({ examples: [VALIDATION_EXAMPLE] })

export function validationToWire({ createsTarget, plan, changes, ...rest }: Validation) {
  return {
    ...rest,
    errors: rest.errors.map(findingToWire),
    warnings: rest.warnings.map(findingToWire),
    columns: [...rest.columns],
    creates_target: createsTarget,
    plan: plan === null ? null : planToWire(plan),
    changes: changes === null ? null : changesToWire(changes),
  }
}

function changesToWire({
  fullCost,
  planDependent,
  scope,
  ...rest
}: ChangeTrace): z.infer<typeof changesWire> {
  return {
    full: rest.full,
    scope: [...scope],
    full_cost: fullCost,
    tables: rest.tables.map(({ keyQueries, identity, ...table }) => ({
      ...table,
      traced: table.reason === null,
      key_queries: [...keyQueries],
      scans: [...table.scans],
      indexes: [...table.indexes],
      identity: identity === null ? null : identityToWire(identity),
    })),
    followed: [...rest.followed],
    plan_dependent: [...planDependent],
  }
}

function findingToWire({ sqlstate = null, message, hint, ...rest }: Finding): z.infer<typeof finding> {
  return { ...rest, message: redactText(message), hint: redactText(hint), sqlstate }
}

/** Of the condition of a scan, which contains constants of the query as the planner computed them. */
const MOST_OF_FILTER = 1_000

function planToWire({ rows, totalCost, scans, indexes }: QueryPlan): z.infer<typeof planWire> {
  return {
    rows,
    total_cost: totalCost,
    scans: scans.map(({ isBig, filter, ...scan }) => ({
      ...scan,
      filter: filter === null ? null : cutText(filter, MOST_OF_FILTER),
      is_big: isBig,
    })),
    indexes: [...indexes],
  }
}

export const tablesQuery = z.strictObject({
  connection: line(100).optional().describe('A named connection; absent: the main database.'),
})

export const tablesWire = z.object({
  schemas: z.array(z.string()).describe('The value of ALLOWED_SOURCE_SCHEMAS.'),
  items: z
    .array(
      z.object({
        schema: z.string().describe('The schema.'),
        name: z.string().describe('The name without the schema.'),
        kind: z.enum(['table', 'view']).describe('The type; a materialized view is a view.'),
        rows: z.number().nullable().describe('Its row count from the statistics; null: unknown.'),
        columns: z
          .array(column.extend({ not_null: z.boolean().describe('The database guarantees it.') }))
          .describe('In order.'),
      }),
    )
    .describe('The tables and views that a query may read, ordered by schema and name.'),
  truncated: z.boolean().describe('Whether there are more than listed.'),
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

export const previewQuery = z.strictObject({ limit: pageQuery.limit.describe('The maximum number of rows.') })

export const previewWire = z
  .object({
    columns: z.array(column).describe('The columns with their types.'),
    rows: z
      .array(z.record(z.string(), z.string().nullable()))
      .describe('The first rows as they would be written, each value as text.'),
    truncated: z.boolean().describe('Whether long values were shortened.'),
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
  deep: flag()
    .default(false)
    .describe('Compare row by row instead of counts only; requires the role operator.'),
})

const side = z.object({
  count: z.number().describe('The number of rows.'),
  min: z.string().nullable().describe('The lowest value of the control field, as text.'),
  max: z.string().nullable().describe('The highest value of the control field, as text.'),
})
const drift = z.object({
  count: z.number().describe('The number of rows.'),
  keys: z.array(z.record(z.string(), z.string().nullable())).describe('The keys of some of them.'),
})

export const reconcileWire = z
  .object({
    matches: z.boolean().describe('Whether there are no differences.'),
    control_field: z.string().describe('The field whose range is compared.'),
    source: side.describe('The result of the query.'),
    target: side.describe('The contents of the mart.'),
    missing: drift.optional().describe('In the source, not in the mart.'),
    extra: drift.optional().describe('In the mart, not in the source.'),
    different: drift.optional().describe('In both, with different values.'),
    on_their_way: z
      .number()
      .optional()
      .describe('Rows that differ because the pipeline has not reached them yet; not drift.'),
    undecided: z
      .number()
      .optional()
      .describe(
        'How many of those might be drift: the source has changed, but the change cannot be traced to a row.',
      ),
  })
  .meta({ examples: [RECONCILIATION_EXAMPLE] })

export function reconcileToWire({ matches, controlField, source, target, deep }: Reconciliation) {
  const summary = { matches, control_field: controlField, source, target }
  if (deep === null) return summary
  const differenceAnswer = ({ count, keys }: Drift) => ({
    count,
    keys: keys.map((key) =>
      Object.fromEntries(deep.keyColumns.map((name, index) => [name, key[index] ?? null])),
    ),
  })
  return {
    ...summary,
    missing: differenceAnswer(deep.missing),
    extra: differenceAnswer(deep.extra),
    different: differenceAnswer(deep.different),
    on_their_way: deep.onTheirWay,
    undecided: deep.undecided,
  }
}

export const repairWire = z.object({
  id: z.string().describe('The id of the pipeline.'),
  rows: z.number().describe('The number of rows to repair.'),
  run_id: z.string().nullable().describe('The run that repairs them; null if nothing differs.'),
  url: z.string().nullable().describe('The URL of that run.'),
})
