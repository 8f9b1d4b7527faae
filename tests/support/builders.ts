import { randomUUID } from 'node:crypto'
import type { PipelineSpec, Task } from '../../src/model/pipeline.js'
import { FIELD_DEFAULTS } from '../../src/model/pipeline-fields.js'
import { specOfValues } from '../../src/model/pipeline-spec.js'
import type { TestDatabase } from './database.js'

export type TaskSpec = Pick<Task, 'taskType' | 'body'> & Partial<Pick<Task, 'sourceTable' | 'targetTable'>>

export interface PipelineOverrides extends Partial<PipelineSpec> {
  readonly id?: string
  readonly tasks?: readonly TaskSpec[]
}

export interface BuiltPipeline {
  readonly id: string
  readonly spec: PipelineSpec
}

let built = 0

/** A pipeline that works unchanged: every test gives only the fields that matter to it. */
function defaultSpec(): PipelineSpec {
  built += 1
  return specOfValues({
    ...FIELD_DEFAULTS,
    name: `pipeline_${built}_${randomUUID().slice(0, 8)}`,
    type: 'SQL',
    source_query: 'SELECT id AS film_id, title, rating, modified AS updated_at FROM content.film_work',
    target_table: `analytics.mart_${built}`,
    key_columns: ['film_id'],
  })
}

/** Inserted with plain SQL as the administrator, so that it depends on nothing under test. */
export async function aPipeline(
  database: TestDatabase,
  overrides: PipelineOverrides = {},
): Promise<BuiltPipeline> {
  const { id = randomUUID(), tasks = [], ...changes } = overrides
  const spec: PipelineSpec = { ...defaultSpec(), ...changes }
  const columns = {
    id,
    ...Object.fromEntries(
      Object.entries(spec).map(([name, value]) => [snakeCase(name), stored(name, value)]),
    ),
  }
  const names = Object.keys(columns)
  // One statement, because one transaction is one version of the configuration.
  await database.query(
    `WITH made AS (INSERT INTO etl.etl_pipelines (${names.join(', ')})
       VALUES (${names.map((_, n) => `$${n + 1}`).join(', ')}) RETURNING id)
     INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, source_table, target_table)
     SELECT made.id, task.* FROM made, jsonb_to_recordset($${names.length + 1}) AS
       task (order_index integer, task_type text, body text, source_table text, target_table text)`,
    [...Object.values(columns), JSON.stringify(tasks.map(taskRow))],
  )
  return { id, spec }
}

function taskRow(task: TaskSpec, order: number): Record<string, unknown> {
  return {
    order_index: order + 1,
    task_type: task.taskType,
    body: task.body,
    source_table: task.sourceTable ?? null,
    target_table: task.targetTable ?? null,
  }
}

/** The driver would send a list as an array. */
function stored(name: string, value: unknown): unknown {
  return name === 'checks' ? JSON.stringify(value) : value
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
