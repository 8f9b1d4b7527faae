import { z } from 'zod'
import { isTooLong, LONGEST_NAME } from '../../model/table-name.js'
import { line, text } from './text.js'

const column = line(200).refine((name) => !isTooLong(name), {
  error: `must not be longer than ${LONGEST_NAME} bytes: PostgreSQL cuts off the rest`,
})
const table = line(300)

export const taskFields = {
  id: z.string().optional().describe('Ignored: it is there so that what was read can be sent back.'),
  order_index: z
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('The place in the plan. Absent: where it stands in the list, from 1.'),
  task_type: z
    .enum(['SQL', 'PYTHON'])
    .describe('SQL reads the rows and comes first; PYTHON is a registered transform.'),
  body: text(1, 200_000).describe('The SQL text, or the name of a registered transform.'),
  source_table: table.nullable().default(null).describe('What the task reads, for people; not used.'),
  target_table: table
    .nullable()
    .default(null)
    .describe('Only in the last task: writes there instead of the target of the pipeline.'),
}

/** Every field that somebody may set, with its default. The same words serve API, YAML and console. */
export const pipelineFields = {
  name: line(200).describe('Unique among all pipelines.').meta({ example: 'film_dim' }),
  description: text(0, 10_000).default('').describe('What it is for, in words.'),
  type: z
    .enum(['SQL', 'PYTHON'])
    .optional()
    .describe('SQL: a query only. PYTHON: with registered transforms. Absent: follows from the tasks.'),
  source_type: z.literal('postgres').default('postgres').describe('What is read from.'),
  source_connection: line(100)
    .nullable()
    .default(null)
    .describe('Name of the connection that is read. null: the main database.'),
  source_query: text(0, 200_000)
    .nullable()
    .default('')
    .describe('The SELECT whose rows fill the target; null with source_table. Tasks have priority over it.')
    .meta({ example: 'SELECT id AS film_id, title, modified AS updated_at FROM content.film_work' }),
  source_table: table
    .nullable()
    .default(null)
    .describe(
      'A table or view to read instead of source_query, as schema.table. Tasks have priority over it.',
    ),
  source_columns: z
    .array(column)
    .max(1600)
    .default([])
    .describe('Columns of source_table to read, in this order. Empty: all of them.'),
  target_table: table
    .describe('The address of the mart: schema.table, es:index, ch:table or s3:prefix.')
    .meta({ example: 'analytics.film_dim' }),
  target_connection: line(100)
    .nullable()
    .default(null)
    .describe('Name of the connection that is written. null: the main database.'),
  shared_target: z
    .boolean()
    .default(false)
    .describe('Allows other pipelines that say so too to write to the same target.'),
  target_options: z
    .record(line(100), z.unknown())
    .default({})
    .describe('What only this kind of target knows; see the page of its sink. For tables: none.')
    .meta({ example: { write_mode: 'index' } }),
  mode: z
    .enum(['full', 'incremental'])
    .default('full')
    .describe('full re-reads all rows, incremental those beyond the checkpoint.'),
  full_strategy: z
    .enum(['upsert', 'replace'])
    .default('upsert')
    .describe('For mode full: upsert in batches, or replace the whole mart at once.'),
  incremental_key: column
    .nullable()
    .default(null)
    .describe('Column of the query that grows with every change.')
    .meta({ example: 'updated_at' }),
  incremental_id_key: column
    .nullable()
    .default(null)
    .describe('Column that tells rows with an equal incremental_key apart.')
    .meta({ example: 'film_id' }),
  capture: z
    .enum(['key', 'xmin'])
    .default('key')
    .describe('For mode incremental: by incremental_key, or by the row versions of the database.'),
  deletes: z
    .enum(['ignore', 'sweep'])
    .default('ignore')
    .describe('sweep removes rows from the mart that the source no longer has.'),
  key_columns: z
    .array(column)
    .max(32)
    .default([])
    .describe('The UPSERT key. Empty: the primary key of the target table.')
    .meta({ example: ['film_id'] }),
  batch_size: z
    .union([z.int().min(1).max(1_000_000), z.literal('auto')], {
      error: 'must be a whole number from 1 to 1000000, or "auto"',
    })
    .default('auto')
    .describe('Rows in a batch; auto keeps a batch near its target duration.'),
  enabled: z.boolean().default(true).describe('Runners work on enabled pipelines only.'),
  schedule_interval: line(200)
    .nullable()
    .default(null)
    .describe('15m, 1h30m, PT15M or a cron expression. null: runs only when asked to.')
    .meta({ example: '15m' }),
  schedule_timezone: line(100)
    .default('UTC')
    .describe('The zone in which a cron expression is read.')
    .meta({ example: 'Europe/Moscow' }),
  quarantine_limit: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(100)
    .describe('Rows a run may put into quarantine before it fails.'),
  delete_brake: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Share of the mart that one run may remove before the brake stops it.'),
  tasks: z
    .array(z.strictObject(taskFields))
    .max(100)
    .default([])
    .describe('The task plan; empty: source_query alone.'),
}

export const pipelineInput = z.strictObject(pipelineFields).meta({ id: 'PipelineInput' })
export type PipelineInput = z.output<typeof pipelineInput>

/** For who only looks: a name comes with saving, and the first rows of a query are the same for every target. */
export const validateInput = z
  .strictObject({ ...pipelineFields, ...mayBeLeftOut({ name: pipelineFields.name }) })
  .meta({ id: 'UnsavedPipeline' })
export const previewInput = z
  .strictObject({
    ...pipelineFields,
    ...mayBeLeftOut({ name: pipelineFields.name, target_table: pipelineFields.target_table }),
  })
  .meta({ id: 'UnsavedQuery' })

const RESET = z
  .boolean()
  .optional()
  .describe(
    'Needed when the change makes the checkpoint meaningless: true sets it back to the start, false keeps it.',
  )

/** RFC 7396: what is absent stays, null goes back to the default. */
export const pipelinePatch = z
  .strictObject({ ...mayBeLeftOut(pipelineFields), reset_checkpoint: RESET })
  .meta({ id: 'PipelinePatch' })

function mayBeLeftOut(fields: Record<string, z.ZodType>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const bare = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field
      // What has to be said when a pipeline is created has no default that null could go back to.
      const loose = field.safeParse(undefined).success ? bare.nullish() : bare.optional()
      return [name, loose.describe(field.description ?? '')]
    }),
  )
}
