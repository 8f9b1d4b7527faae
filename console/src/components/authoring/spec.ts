import { PIPELINE_DEFAULTS } from '../../api/pipeline-defaults.js'
import type { Pipeline, PipelineInput, PipelinePatch } from '../../api/wire.js'

type Decided = 'id' | 'status' | 'config_version' | 'managed_by' | 'created_at' | 'updated_at' | 'type'
/** Numbers are typed as text. */
type Typed = {
  [F in keyof Pipeline]: number extends Pipeline[F] ? Exclude<F, Decided> : never
}[keyof Pipeline]

export type SpecTask = Omit<Pipeline['tasks'][number], 'id' | 'order_index'>

/**
 * The editable fields of a pipeline, under the names of the API. A number may be incomplete: the server validates it, like
 * everything else.
 */
export type Spec = Omit<Pipeline, Decided | Typed | 'tasks'> & {
  readonly [field in Typed]: number | string
} & { readonly tasks: readonly SpecTask[] }

export type SpecField = keyof Spec

export const BLANK: Spec = { ...PIPELINE_DEFAULTS, name: '', target_table: '' }

export function specOf(pipeline: Pipeline): Spec {
  const { id, status, config_version, managed_by, created_at, updated_at, type, tasks, ...rest } = pipeline
  return { ...rest, tasks: tasks.map(({ id: _, order_index, ...task }) => task) }
}

/** The request body. Incomplete values are included; the API rejects them with their field. */
export function toInput(spec: Spec): PipelineInput {
  return spec as PipelineInput
}

export function toPatch(fields: Partial<Spec>): PipelinePatch {
  return fields as PipelinePatch
}

/** The effective query: that of the task plan if there is one, otherwise that of the query or the table. */
export function queryOf(spec: Spec): string {
  return spec.tasks.find(isReader)?.body ?? spec.source_query ?? tableQuery(spec)
}

/** Whether rows are read from a table instead of a query. Empty: not selected yet. */
export function readsTable({ tasks, source_table }: Spec): boolean {
  return source_table !== null && !tasks.some(isReader)
}

/** The query that the server generates for the table. Empty: not selected yet. */
function tableQuery({ source_table, source_columns }: Pick<Spec, 'source_table' | 'source_columns'>): string {
  if (source_table === null || source_table.trim() === '') return ''
  const columns = source_columns.length === 0 ? '*' : source_columns.map(quoted).join(', ')
  return `SELECT ${columns} FROM ${source_table}`
}

/** The name as used in queries and in the field source_table. */
export function tableAddress({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoted(schema)}.${quoted(name)}`
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

export function withQuery({ tasks }: Spec, query: string): Partial<Spec> {
  if (!tasks.some(isReader)) return { source_query: query, source_table: null, source_columns: [] }
  return { tasks: tasks.map((task) => (isReader(task) ? { ...task, body: query } : task)) }
}

/** The names of the functions of the task plan, in order. */
export function stepsOf({ tasks }: Spec): readonly string[] {
  return tasks.filter((task) => !isReader(task)).map(({ body }) => body)
}

/** A plan starts with the reader. Without steps there is only the query. */
export function withSteps(spec: Spec, names: readonly string[]): Partial<Spec> {
  const query = queryOf(spec)
  // Only the last task may have another target than the pipeline.
  const elsewhere = spec.tasks.at(-1)?.target_table ?? null
  if (names.length === 0)
    return {
      tasks: [],
      source_query: query,
      ...(elsewhere === null ? {} : { target_table: elsewhere }),
    }
  const task = (task_type: 'SQL' | 'PYTHON', body: string): SpecTask => ({
    task_type,
    body,
    source_table: null,
    target_table: null,
  })
  const steps = names.map((name) => task('PYTHON', name))
  const reader = { ...(spec.tasks.find(isReader) ?? task('SQL', query)), target_table: null }
  return {
    tasks: [reader, ...steps.slice(0, -1), { ...steps.at(-1)!, target_table: elsewhere }],
    // A plan reads with a query: the query of the table becomes its first task.
    ...(readsTable(spec) ? { source_query: query, source_table: null, source_columns: [] } : {}),
  }
}

function isReader({ task_type }: Pick<SpecTask, 'task_type'>): boolean {
  return task_type === 'SQL'
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** A number if it is complete; otherwise the typed text. */
export function typedNumber(text: string): number | string {
  const trimmed = text.trim()
  return trimmed !== '' && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}
