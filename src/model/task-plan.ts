/** What is wrong with one field, for people (message) and programs (code). */
export interface Mistake {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** A task as somebody wrote it; what is missing or unreadable is undefined, and told elsewhere. */
export interface TaskText {
  readonly order_index?: number
  readonly task_type?: 'SQL' | 'PYTHON'
  readonly body?: string
  readonly target_table?: string | null
}

/** Never a path, a module or code (R4.9). */
export const TRANSFORM_NAME = /^[\p{L}_][\p{L}\p{N}_-]{0,199}$/u

/** The rules of R4.7, each with a mistake of its own: a SQL reader first, registered transforms after it. */
export function taskPlanMistakes(tasks: readonly TaskText[]): Mistake[] {
  const steps = inOrder(tasks)
  return [...orderMistakes(tasks), ...steps.flatMap((step, place) => stepMistakes(step, place, steps.length))]
}

interface Step extends TaskText {
  /** Where it stands in the text. */
  readonly field: string
  readonly order: number
}

/** Steps without a number stand where they were written. */
function inOrder(tasks: readonly TaskText[]): Step[] {
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
    return [mistake(`tasks.${n}.order_index`, 'PLAN_ORDER_DOUBLED', `two tasks have the place ${order}`)]
  })
}

function stepMistakes(step: Step, place: number, steps: number): Mistake[] {
  const found: Mistake[] = []
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

function mistake(field: string, code: string, message: string): Mistake {
  return { field, code, message }
}
