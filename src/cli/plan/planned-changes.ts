import type { JsonSchema } from '../../config/json-schema.js'
import { isSame, typeOf } from '../../config/pipeline-yaml.js'
import type { Fields, Pipeline } from '../server/wire.js'

export interface PlannedChange {
  readonly field: string
  readonly old: unknown
  readonly new: unknown
}

/** All fields of a pipeline with their defaults, in one canonical form. */
export type Normalise = (fields: Readonly<Fields>) => Fields

/** `schema`: the schema of a pipeline in a file. */
export function normaliser(schema: JsonSchema): Normalise {
  const { apiVersion: _, source_query_file: __, ...properties } = schema.properties ?? {}
  return (fields) => {
    const whole = Object.fromEntries(
      Object.entries(properties).map(([name, { default: standard }]) => [name, fields[name] ?? standard]),
    )
    // The type that the server derives from the tasks if none is given.
    return { ...whole, type: fields.type ?? typeOf(fields), tasks: normaliseTasks(fields.tasks) }
  }
}

function normaliseTasks(tasks: unknown): Fields[] {
  const list = (Array.isArray(tasks) ? tasks : []) as Fields[]
  return list
    .map((task, n) => ({
      order_index: Number(task.order_index ?? n + 1),
      task_type: task.task_type,
      body: task.body,
      source_table: task.source_table ?? null,
      target_table: task.target_table ?? null,
    }))
    .sort((a, b) => a.order_index - b.order_index)
}

/**
 * What has to change. A field that the file leaves out gets its default, except `enabled`: a deployment must not
 * switch on a pipeline that an operator switched off at night.
 */
export function plannedChanges(
  wanted: Readonly<Fields>,
  current: Pipeline,
  normalise: Normalise,
): PlannedChange[] {
  const before = normalise(current)
  const after = normalise(wanted)
  return Object.keys(after)
    .filter((field) => field !== 'enabled' || Object.hasOwn(wanted, field))
    .filter((field) => !isSame(before[field], after[field]))
    .map((field) => ({ field, old: before[field], new: after[field] }))
}
