import type { JsonSchema } from '../../config/json-schema.js'
import { isSame, typeOf } from '../../config/pipeline-yaml.js'
import type { Fields, Pipeline } from '../server/wire.js'

export interface Change {
  readonly field: string
  readonly old: unknown
  readonly new: unknown
}

/** All fields of a pipeline with their defaults, written one way. */
export type Normalise = (fields: Readonly<Fields>) => Fields

/** `schema`: that of a pipeline in a file. */
export function normaliser(schema: JsonSchema): Normalise {
  const { apiVersion: _, source_query_file: __, ...properties } = schema.properties ?? {}
  return (fields) => {
    const whole = Object.fromEntries(
      Object.entries(properties).map(([name, { default: standard }]) => [name, fields[name] ?? standard]),
    )
    // What the server takes from the tasks when nobody says it.
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
 * What has to change. A field that the file leaves out has its default, but for `enabled`: that is a switch, and who
 * turned a pipeline off in the night does not want the next deployment to turn it on.
 */
export function changesOf(wanted: Readonly<Fields>, current: Pipeline, normalise: Normalise): Change[] {
  const before = normalise(current)
  const after = normalise(wanted)
  return Object.keys(after)
    .filter((field) => field !== 'enabled' || Object.hasOwn(wanted, field))
    .filter((field) => !isSame(before[field], after[field]))
    .map((field) => ({ field, old: before[field], new: after[field] }))
}
