import { expect } from 'vitest'
import { columnsOfTexts, type TestTasks } from './tasks.js'

export const COLUMNS = columnsOfTexts('id bigint', 'title text')
export const ROWS = [
  ['1', ' One '],
  ['2', ' Two '],
  ['3', null],
]

export const HEAD = 'from vitrina import task\nimport os, sys, time\n'
/** A task file with these functions. */
export const python = (...functions: string[]) => ({
  'python/tasks.py': `${HEAD}\n${functions.join('\n\n')}\n`,
})
export const pythonTask = (name: string, ...body: string[]) =>
  `@task("${name}")\ndef ${name}(rows):\n${body.map((line) => `    ${line}`).join('\n')}`
export const GOOD = pythonTask(
  'good',
  'return [{**row, "title": (row["title"] or "").strip()} for row in rows]',
)

/** The effect of a misbehaving function; the hosts keep working, which a good one shows. */
export async function taskFailure(tasks: TestTasks, name: string) {
  const failure = await tasks.run(name, COLUMNS, ROWS).then(
    () => null,
    (error) => error,
  )
  expect(await tasks.run('good', COLUMNS, ROWS)).toEqual([
    ['1', 'One'],
    ['2', 'Two'],
    ['3', ''],
  ])
  return failure
}
