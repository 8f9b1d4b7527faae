import type { Command } from 'commander'
import { bad, print } from './output/print.js'
import { group } from './program/command.js'
import { listCommand } from './program/list-command.js'

export function addTasks(program: Command): void {
  const tasks = group(program, 'tasks', 'Inspect the functions that a task plan can use.')
  listCommand(tasks, {
    usage: 'list',
    description: 'List the registered functions, and the files that could not be loaded.',
    examples: ['tasks list', 'tasks list --json | jq ".items[].name"'],
    route: '/tasks',
    columns: {
      name: ({ name }) => name,
      language: ({ language }) => language,
      signature: ({ signature }) => signature,
      adds: ({ adds }) =>
        Object.entries(adds)
          .map(([column, type]) => `${column} ${type}`)
          .join(', ') || null,
      drops: ({ drops }) => drops.join(', ') || null,
      file: ({ file }) => file,
      doc: ({ doc }) => doc.split('\n')[0] || null,
    },
    none: 'No tasks are registered; see docs/guides/python-tasks.md.',
    after: ({ problems }) => {
      for (const { file, message } of problems) print(`${bad('✗')} ${file}: ${message}`)
    },
  })
}
