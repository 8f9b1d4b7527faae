import { z } from 'zod'
import { FIELD_SCHEMAS } from '../../model/pipeline-fields.js'
import { line, text } from '../../model/text.js'

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
  ...FIELD_SCHEMAS,
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
