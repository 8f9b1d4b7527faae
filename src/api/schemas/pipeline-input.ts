import { z } from 'zod'
import { CAPTURES } from '../../model/pipeline.js'
import { isTooLong, LONGEST_NAME } from '../../model/table-name.js'
import { line, text } from './text.js'

const column = line(200).refine((name) => !isTooLong(name), {
  error: `must not be longer than ${LONGEST_NAME} bytes: PostgreSQL truncates longer names`,
})
const table = line(300)

export const taskFields = {
  id: z.string().optional().describe('Ignored; accepted so that a response can be sent back unchanged.'),
  order_index: z
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('The position in the plan. Absent: the position in the list, starting at 1.'),
  task_type: z
    .enum(['SQL', 'PYTHON'])
    .describe('SQL reads the rows and comes first; PYTHON is a registered transform.'),
  body: text(1, 200_000).describe('The SQL text, or the name of a registered transform.'),
  source_table: table.nullable().default(null).describe('What the task reads, for documentation only.'),
  target_table: table
    .nullable()
    .default(null)
    .describe('Only in the last task: overrides the target of the pipeline.'),
}

/** Every field that can be set, with its default. API, YAML and console use the same definitions. */
export const pipelineFields = {
  name: line(200).describe('A unique name.').meta({ example: 'film_dim' }),
  description: text(0, 10_000).default('').describe('What the pipeline is for.'),
  type: z
    .enum(['SQL', 'PYTHON'])
    .optional()
    .describe('SQL: a query only. PYTHON: with registered transforms. Absent: derived from the tasks.'),
  source_type: z.literal('postgres').default('postgres').describe('The kind of source.'),
  source_connection: line(100)
    .nullable()
    .default(null)
    .describe('The connection to read from. null: the main database.'),
  source_query: text(0, 200_000)
    .nullable()
    .default('')
    .describe('The SELECT whose rows fill the target; null with source_table. Tasks take precedence.')
    .meta({ example: 'SELECT id AS film_id, title, modified AS updated_at FROM content.film_work' }),
  source_table: table
    .nullable()
    .default(null)
    .describe('A table or view to read instead of source_query, as schema.table. Tasks take precedence.'),
  source_columns: z
    .array(column)
    .max(1600)
    .default([])
    .describe('Columns of source_table to read, in this order. Empty: all columns.'),
  target_table: table
    .describe('The address of the mart: schema.table, es:index, ch:table or s3:prefix.')
    .meta({ example: 'analytics.film_dim' }),
  target_connection: line(100)
    .nullable()
    .default(null)
    .describe('The connection to write to. null: the main database.'),
  shared_target: z
    .boolean()
    .default(false)
    .describe('Allow other pipelines with this option to write to the same target.'),
  target_options: z
    .record(line(100), z.unknown())
    .default({})
    .describe('Options of this kind of target; see the guide for its sink. Tables have none.')
    .meta({ example: { write_mode: 'index' } }),
  mode: z
    .enum(['full', 'incremental'])
    .default('full')
    .describe('full reads all rows in every run, incremental only rows after the checkpoint.'),
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
    .describe('Column that distinguishes rows with an equal incremental_key.')
    .meta({ example: 'film_id' }),
  capture: z
    .enum(CAPTURES)
    .default('key')
    .describe(
      'For mode incremental: detect changes by incremental_key, or by the row versions of the database.',
    ),
  deletes: z
    .enum(['ignore', 'sweep'])
    .default('ignore')
    .describe('sweep deletes rows from the mart that the source no longer has.'),
  key_columns: z
    .array(column)
    .max(32)
    .default([])
    .describe('The upsert key. Empty: the primary key of the target table.')
    .meta({ example: ['film_id'] }),
  batch_size: z
    .union([z.int().min(1).max(1_000_000), z.literal('auto')], {
      error: 'must be a whole number from 1 to 1000000, or "auto"',
    })
    .default('auto')
    .describe('Rows per batch; auto keeps a batch near its target duration.'),
  enabled: z.boolean().default(true).describe('Runners run only enabled pipelines.'),
  schedule_interval: line(200)
    .nullable()
    .default(null)
    .describe('15m, 1h30m, PT15M or a cron expression. null: runs only on request.')
    .meta({ example: '15m' }),
  schedule_timezone: line(100)
    .default('UTC')
    .describe('The time zone of a cron expression.')
    .meta({ example: 'Europe/Moscow' }),
  quarantine_limit: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(100)
    .describe('Rows that a run may quarantine before it fails.'),
  delete_brake: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Share of the mart that one run may delete before it fails.'),
  tasks: z
    .array(z.strictObject(taskFields))
    .max(100)
    .default([])
    .describe('The task plan; empty: source_query alone.'),
}

export const pipelineInput = z.strictObject(pipelineFields).meta({ id: 'PipelineInput' })
export type PipelineInput = z.output<typeof pipelineInput>

/**
 * For validation and preview: the name is needed only for saving, and the first rows of a query are the same for
 * every target.
 */
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
  .describe('Required if the change invalidates the checkpoint: true resets it to the start, false keeps it.')

/** RFC 7396: absent fields are kept, null restores the default. */
export const pipelinePatch = z
  .strictObject({ ...mayBeLeftOut(pipelineFields), reset_checkpoint: RESET })
  .meta({ id: 'PipelinePatch' })

function mayBeLeftOut(fields: Record<string, z.ZodType>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const bare = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field
      // Fields that are required when a pipeline is created have no default that null could restore.
      const loose = field.safeParse(undefined).success ? bare.nullish() : bare.optional()
      return [name, loose.describe(field.description ?? '')]
    }),
  )
}
