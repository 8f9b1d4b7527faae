import { z } from 'zod'
import type { Pipeline, Task } from '../../model/pipeline.js'
import { PIPELINE_STATUSES } from '../../model/status.js'
import type { State } from '../../ports/catalog.js'
import { pageOf, pageQuery } from './page.js'

const taskWire = z.object({
  id: z.string(),
  order_index: z.number(),
  task_type: z.enum(['SQL', 'PYTHON']),
  body: z.string(),
  source_table: z.string().nullable(),
  target_table: z.string().nullable(),
})

export const pipelineWire = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  type: z.enum(['SQL', 'PYTHON']),
  source_type: z.string(),
  source_connection: z.string().nullable(),
  source_query: z.string(),
  target_table: z.string(),
  target_connection: z.string().nullable(),
  mode: z.enum(['full', 'incremental']),
  full_strategy: z.enum(['upsert', 'replace']),
  incremental_key: z.string().nullable(),
  incremental_id_key: z.string().nullable(),
  capture: z.enum(['key', 'xmin']),
  deletes: z.enum(['ignore', 'sweep']),
  key_columns: z.array(z.string()),
  batch_size: z.union([z.number(), z.literal('auto')]),
  enabled: z.boolean(),
  schedule_interval: z.string().nullable(),
  schedule_timezone: z.string(),
  quarantine_limit: z.number(),
  delete_brake: z.number(),
  status: z.enum(PIPELINE_STATUSES),
  config_version: z.number(),
  tasks: z.array(taskWire),
  created_at: z.string(),
  updated_at: z.string(),
})
export type PipelineWire = z.infer<typeof pipelineWire>

export const pipelinePage = pageOf(pipelineWire)

/** Strict: a misspelt filter that is ignored would show everything and look like an answer. */
export const listPipelinesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(PIPELINE_STATUSES).optional(),
  enabled: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  q: z.string().min(1).max(200).optional(),
})

export const stateWire = z.object({
  pipeline_id: z.string(),
  last_processed_key: z.string().nullable(),
  last_processed_id: z.string().nullable(),
  updated_at: z.string(),
})

export function pipelineToWire(pipeline: Pipeline): PipelineWire {
  return {
    id: pipeline.id,
    name: pipeline.name,
    description: pipeline.description,
    type: pipeline.type,
    source_type: pipeline.sourceType,
    source_connection: pipeline.sourceConnection,
    source_query: pipeline.sourceQuery,
    target_table: pipeline.targetTable,
    target_connection: pipeline.targetConnection,
    mode: pipeline.mode,
    full_strategy: pipeline.fullStrategy,
    incremental_key: pipeline.incrementalKey,
    incremental_id_key: pipeline.incrementalIdKey,
    capture: pipeline.capture,
    deletes: pipeline.deletes,
    key_columns: [...pipeline.keyColumns],
    batch_size: pipeline.batchSize ?? 'auto',
    enabled: pipeline.enabled,
    schedule_interval: pipeline.scheduleInterval,
    schedule_timezone: pipeline.scheduleTimezone,
    quarantine_limit: pipeline.quarantineLimit,
    delete_brake: pipeline.deleteBrake,
    status: pipeline.status,
    config_version: pipeline.configVersion,
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
