import { z } from 'zod'
import { MANAGERS, type Pipeline, type Task } from '../../model/pipeline.js'
import { PIPELINE_STATUSES } from '../../model/status.js'
import type { State } from '../../ports/catalog.js'
import type { Rehearsal } from '../services/rehearsal.js'
import { PIPELINE_EXAMPLE } from './examples.js'
import { flag, pageOf, pageQuery } from './page.js'
import { fieldsToWire } from './pipeline-fields.js'
import { pipelineFields } from './pipeline-input.js'
import { text } from './text.js'

const taskWire = z
  .object({
    id: z.string().describe('The id of the task.'),
    order_index: z.number().describe('The place in the plan.'),
    task_type: z.enum(['SQL', 'PYTHON']).describe('SQL reads the rows; PYTHON is a registered transform.'),
    body: z.string().describe('The SQL text, or the name of a registered transform.'),
    source_table: z.string().nullable().describe('What the task reads, for people; not used.'),
    target_table: z.string().nullable().describe('Where the last task writes instead of the target.'),
  })
  .meta({ id: 'Task' })

const said = (field: keyof typeof pipelineFields) => pipelineFields[field].description ?? ''

export const pipelineWire = z
  .object({
    id: z.string().describe('The id, made by the database.'),
    name: z.string().describe(said('name')),
    description: z.string().describe(said('description')),
    type: z.enum(['SQL', 'PYTHON']).describe('SQL: a query only. PYTHON: with registered transforms.'),
    source_type: z.string().describe(said('source_type')),
    source_connection: z.string().nullable().describe(said('source_connection')),
    source_query: z.string().nullable().describe(said('source_query')),
    source_table: z.string().nullable().describe(said('source_table')),
    source_columns: z.array(z.string()).describe(said('source_columns')),
    target_table: z.string().describe(said('target_table')),
    target_connection: z.string().nullable().describe(said('target_connection')),
    shared_target: z.boolean().describe(said('shared_target')),
    target_options: z.record(z.string(), z.unknown()).describe(said('target_options')),
    mode: z.enum(['full', 'incremental']).describe(said('mode')),
    full_strategy: z.enum(['upsert', 'replace']).describe(said('full_strategy')),
    incremental_key: z.string().nullable().describe(said('incremental_key')),
    incremental_id_key: z.string().nullable().describe(said('incremental_id_key')),
    capture: z.enum(['key', 'xmin']).describe(said('capture')),
    deletes: z.enum(['ignore', 'sweep']).describe(said('deletes')),
    key_columns: z.array(z.string()).describe(said('key_columns')),
    batch_size: z.union([z.number(), z.literal('auto')]).describe(said('batch_size')),
    enabled: z.boolean().describe(said('enabled')),
    schedule_interval: z.string().nullable().describe(said('schedule_interval')),
    schedule_timezone: z.string().describe(said('schedule_timezone')),
    quarantine_limit: z.number().describe(said('quarantine_limit')),
    delete_brake: z.number().describe(said('delete_brake')),
    status: z.enum(PIPELINE_STATUSES).describe('Where it stands in its life cycle.'),
    config_version: z.number().describe('Grows with every change; also the ETag.'),
    managed_by: z
      .enum(MANAGERS)
      .describe('file: "vitrina apply" brought it; the API changes it only with take_over=true.'),
    tasks: z.array(taskWire).describe(said('tasks')),
    created_at: z.string().describe('When it was created.'),
    updated_at: z.string().describe('When its configuration last changed.'),
  })
  .meta({ id: 'Pipeline', examples: [PIPELINE_EXAMPLE] })
export type PipelineWire = z.infer<typeof pipelineWire>

const managerQuery = {
  take_over: flag()
    .default(false)
    .describe('Changes a pipeline that comes from a file; from then on the API answers for it.'),
  managed_by: z
    .enum(MANAGERS)
    .optional()
    .describe('Who makes this change. "vitrina apply" says file; absent: api.'),
}
export const ownerQuery = z.strictObject(managerQuery)
export const editQuery = z.strictObject({
  ...managerQuery,
  dry_run: flag().default(false).describe('Says what would change, and changes nothing.'),
})

export const editedWire = pipelineWire.extend({
  dry_run: z
    .object({
      changes: z
        .record(z.string(), z.object({ old: z.unknown(), new: z.unknown() }))
        .describe('Each field that would change, with its old and its new value.'),
      checkpoint: z
        .enum(['none', 'kept', 'reset', 'undecided'])
        .describe('undecided: the change is refused unless reset_checkpoint says what to do.'),
    })
    .optional()
    .describe('Only for dry_run=true: the pipeline is shown as it would be.'),
})

export function rehearsalToWire({ pipeline, changes, checkpoint }: Rehearsal): z.infer<typeof editedWire> {
  return { ...pipelineToWire(pipeline), dry_run: { changes, checkpoint } }
}

export const pipelinePage = pageOf(pipelineWire)

/** Strict: a misspelt filter that is ignored would show everything and look like an answer. */
export const listPipelinesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(PIPELINE_STATUSES).optional().describe('Only those in this status.'),
  enabled: flag().optional().describe('Only enabled ones, or only disabled ones.'),
  q: text(1, 200).optional().describe('A part of the name, whatever its case.'),
})

export const stateWire = z
  .object({
    pipeline_id: z.string().describe('The id of the pipeline.'),
    last_processed_key: z
      .string()
      .nullable()
      .describe('The incremental_key of the last committed row, as text.'),
    last_processed_id: z.string().nullable().describe('Its incremental_id_key, as text.'),
    updated_at: z.string().describe('When the checkpoint last moved.'),
  })
  .meta({ id: 'State' })

export function pipelineToWire(pipeline: Pipeline): PipelineWire {
  return {
    id: pipeline.id,
    ...fieldsToWire(pipeline),
    status: pipeline.status,
    config_version: pipeline.configVersion,
    managed_by: pipeline.managedBy,
    tasks: pipeline.tasks.map(taskToWire),
    created_at: pipeline.createdAt,
    updated_at: pipeline.updatedAt,
  }
}

function taskToWire(task: Task): z.infer<typeof taskWire> {
  return {
    id: task.id,
    order_index: task.orderIndex,
    task_type: task.taskType,
    body: task.body,
    source_table: task.sourceTable,
    target_table: task.targetTable,
  }
}

export function stateToWire(state: State): z.infer<typeof stateWire> {
  return {
    pipeline_id: state.pipelineId,
    last_processed_key: state.lastProcessedKey,
    last_processed_id: state.lastProcessedId,
    updated_at: state.updatedAt,
  }
}
