import type { Pipeline } from '../../model/pipeline.js'
import { specOfValues, valuesOfSpec } from '../../model/pipeline-spec.js'
import type { TaskText } from '../../model/task-plan.js'
import type { PipelineDraft } from '../../ports/pipeline-editor.js'
import { type PipelineInput, pipelineFields, taskFields } from '../schemas/pipeline-input.js'
import { readFields } from '../schemas/read-fields.js'
import { RequestInvalid } from '../schemas/request-invalid.js'
import { type PipelineRules, pipelineMistakes } from './pipeline-rules.js'

type Raw = Readonly<Record<string, unknown>>

const { tasks: tasksField, ...plainFields } = pipelineFields

/** A configuration that can be saved, or all its mistakes. Validation and preview need fewer fields. */
export function readDraft(raw: Raw, rules: PipelineRules, spared: readonly Spared[] = []): PipelineDraft {
  const { tasks: rawTasks, ...rawFields } = raw
  const needed = spared.map((field) => [field, plainFields[field].optional()])
  const fields = readFields<PipelineInput>({ ...plainFields, ...Object.fromEntries(needed) }, rawFields)
  const whole = tasksField.safeParse(rawTasks)
  const tasks = Array.isArray(rawTasks) ? rawTasks.slice(0, 100).map(readTask) : []
  const listErrors = whole.success ? [] : readFields({ tasks: tasksField }, { tasks: rawTasks }).errors
  const errors = [...fields.errors, ...listErrors, ...pipelineMistakes({ ...fields.draft, tasks }, rules)]
  if (errors.length > 0) throw new RequestInvalid(unique(errors))
  return toDraft({ ...(fields.draft as PipelineInput), tasks: whole.data ?? [] })
}

type Spared = 'name' | 'target_table'

/** The valid parts of a task, for the rules of the plan. */
function readTask(raw: unknown): TaskText {
  const isObject = typeof raw === 'object' && raw !== null && !Array.isArray(raw)
  return readFields<TaskText>(taskFields, isObject ? (raw as Raw) : {}).draft
}

/** An empty body breaks two rules; one message is enough. */
function unique<T extends { field: string; code: string }>(errors: T[]): T[] {
  return errors.filter(
    (error, n) =>
      error.code !== 'PLAN_BODY_EMPTY' || !errors.slice(0, n).some(({ field }) => field === error.field),
  )
}

function toDraft(input: PipelineInput): PipelineDraft {
  const transforms = input.tasks.some((task) => task.task_type === 'PYTHON')
  return {
    ...specOfValues({
      ...input,
      name: input.name ?? '',
      target_table: input.target_table ?? '',
      type: input.type ?? (transforms ? 'PYTHON' : 'SQL'),
      // A table is a source itself; an empty query next to it means that there is no query.
      source_query: input.source_table === null ? (input.source_query ?? '') : null,
    }),
    // Decided when it is saved.
    managedBy: 'api',
    tasks: input.tasks
      .map((task, n) => ({
        orderIndex: task.order_index ?? n + 1,
        taskType: task.task_type,
        body: task.body,
        sourceTable: task.source_table,
        targetTable: task.target_table,
      }))
      .sort((a, b) => a.orderIndex - b.orderIndex),
  }
}

/** A pipeline as the input that would create it again. */
export function toInput(pipeline: Pipeline): Record<string, unknown> & PipelineInput {
  return {
    ...valuesOfSpec(pipeline),
    source_type: pipeline.sourceType as 'postgres',
    tasks: pipeline.tasks.map((task) => ({
      order_index: task.orderIndex,
      task_type: task.taskType,
      body: task.body,
      source_table: task.sourceTable,
      target_table: task.targetTable,
    })),
  }
}

/** RFC 7396. Our fields are not nested: a list is replaced as a whole, null restores the default. */
export function mergePatch(pipeline: Pipeline, patch: Raw): Raw {
  const { type, ...base } = toInput(pipeline)
  // The type is derived from the tasks unless it is given.
  const merged: Record<string, unknown> = Object.hasOwn(patch, 'tasks') ? base : { type, ...base }
  for (const field of replacedSource(patch)) delete merged[field]
  for (const [field, value] of Object.entries(patch)) {
    if (value === null && Object.hasOwn(pipelineFields, field)) delete merged[field]
    else merged[field] = value
  }
  return merged
}

/** A pipeline has one source: giving the other kind replaces the first, unless the patch gives both. */
function replacedSource(patch: Raw): string[] {
  const isGiven = (field: string) => typeof patch[field] === 'string' && patch[field] !== ''
  if (isGiven('source_table')) return ['source_query']
  return isGiven('source_query') ? ['source_table', 'source_columns'] : []
}

/** An unsaved configuration as a pipeline. */
export function unsaved(draft: PipelineDraft): Pipeline {
  const tasks = draft.tasks.map((task, index) => ({ ...task, id: String(index) }))
  return {
    ...draft,
    tasks,
    id: '00000000-0000-0000-0000-000000000000',
    status: 'IDLE',
    configVersion: 0,
    createdAt: '',
    updatedAt: '',
  }
}
