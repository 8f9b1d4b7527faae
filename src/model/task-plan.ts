import { type Mistake, VitrinaError } from './errors.js'
import type { Pipeline, Task } from './pipeline.js'

/** A task as it was written; missing or invalid parts are undefined, and reported elsewhere. */
export interface TaskText {
  readonly order_index?: number
  /** From a row of the table it may be anything. */
  readonly task_type?: string
  readonly body?: string
  readonly target_table?: string | null
}

/** Never a path, a module or code (R4.9). */
export const TRANSFORM_NAME = /^[\p{L}_][\p{L}\p{N}_-]{0,199}$/u

/** The rules of R4.7, each with its own mistake: a SQL reader first, registered transforms after it. */
export function taskPlanMistakes(tasks: readonly TaskText[]): Mistake[] {
  const steps = inOrder(tasks)
  return [...orderMistakes(tasks), ...steps.flatMap((step, place) => stepMistakes(step, place, steps.length))]
}

interface OrderedStep extends TaskText {
  /** Its position in the text. */
  readonly field: string
  readonly order: number
}

/** Steps without a number are in the order in which they were written. */
function inOrder(tasks: readonly TaskText[]): OrderedStep[] {
  return tasks
    .map((task, n) => ({ ...task, field: `tasks.${n}`, order: task.order_index ?? n + 1 }))
    .sort((a, b) => a.order - b.order)
}

function orderMistakes(tasks: readonly TaskText[]): Mistake[] {
  const seen = new Set<number>()
  return tasks.flatMap(({ order_index }, n) => {
    const order = order_index ?? n + 1
    if (!seen.has(order)) {
      seen.add(order)
      return []
    }
    return [mistake(`tasks.${n}.order_index`, 'PLAN_ORDER_DOUBLED', `two tasks have the position ${order}`)]
  })
}

const TASK_TYPES: readonly unknown[] = ['SQL', 'PYTHON', undefined]

function stepMistakes(step: OrderedStep, place: number, steps: number): Mistake[] {
  const found: Mistake[] = []
  if (!TASK_TYPES.includes(step.task_type))
    found.push(
      mistake(
        `${step.field}.task_type`,
        'PLAN_TYPE_UNKNOWN',
        `must be SQL or PYTHON, in capitals; it is "${step.task_type}"`,
      ),
    )
  if (place === 0 && step.task_type === 'PYTHON')
    found.push(
      mistake(
        `${step.field}.task_type`,
        'PLAN_FIRST_NOT_SQL',
        'the first task must be SQL: it reads the rows',
      ),
    )
  if (place > 0 && step.task_type === 'SQL')
    found.push(
      mistake(
        `${step.field}.task_type`,
        'PLAN_LATER_NOT_PYTHON',
        'every task after the first must be PYTHON',
      ),
    )
  if (step.body !== undefined && step.body.trim() === '')
    found.push(mistake(`${step.field}.body`, 'PLAN_BODY_EMPTY', 'must not be empty'))
  else if (step.task_type === 'PYTHON' && step.body !== undefined && !TRANSFORM_NAME.test(step.body))
    found.push(
      mistake(`${step.field}.body`, 'PLAN_TRANSFORM_NAME', 'must be the name of a registered transform'),
    )
  if (place < steps - 1 && (step.target_table ?? null) !== null)
    found.push(
      mistake(`${step.field}.target_table`, 'PLAN_TARGET_NOT_LAST', 'only the last task may name a target'),
    )
  return found
}

/** What the type of a pipeline says about its plan. */
export function planTypeMistakes(type: Pipeline['type'], tasks: readonly TaskText[]): Mistake[] {
  const transforms = tasks.some((task) => task.task_type === 'PYTHON')
  if (type === 'SQL' && transforms)
    return [mistake('type', 'TYPE_MISMATCH', 'must be PYTHON: the plan has transforms')]
  if (type === 'PYTHON' && !transforms)
    return [mistake('type', 'TYPE_MISMATCH', 'must be SQL: no task is a registered transform')]
  return []
}

/**
 * The same rules for a pipeline in the table, where a plan can be written with SQL. Each message names the row. A
 * mistake in the steps hides that of the type, which mostly follows from it.
 */
export function savedPlanMistakes({ type, tasks }: Pick<Pipeline, 'type' | 'tasks'>): Mistake[] {
  const texts = tasks.map(asText)
  const steps = taskPlanMistakes(texts).map((found) => ({
    ...found,
    message: `${rowOf(tasks[Number(found.field.split('.')[1])]!)}: ${found.field.split('.')[2]} ${found.message}`,
  }))
  if (steps.length > 0) return steps
  return planTypeMistakes(type, texts).map((found) => ({ ...found, message: `type ${found.message}` }))
}

function asText({ orderIndex, taskType, body, targetTable }: Task): TaskText {
  return { order_index: orderIndex, task_type: taskType, body, target_table: targetTable }
}

function rowOf({ id, orderIndex }: Task): string {
  return `Step at order_index ${orderIndex} (task ${id})`
}

export const PLAN_HINT =
  'A plan is one SQL step followed by PYTHON steps that name registered functions. Correct the rows in etl.etl_pipeline_tasks, or save the pipeline again through the API.'

/** Called before a plan is run, compared or previewed: an invalid step must never be skipped. */
export function requirePlan(pipeline: Pick<Pipeline, 'name' | 'type' | 'tasks'>): void {
  const mistakes = savedPlanMistakes(pipeline)
  if (mistakes.length === 0) return
  throw new VitrinaError(
    'TASK_PLAN_INVALID',
    `The task plan of "${pipeline.name}" cannot be run. ${mistakes.map(({ message }) => `${message}.`).join(' ')}`,
    PLAN_HINT,
    { mistakes },
  )
}

function mistake(field: string, code: string, message: string): Mistake {
  return { field, code, message }
}
