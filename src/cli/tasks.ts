import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from './output/format.js'
import { bad, print } from './output/print.js'
import { printTable } from './output/print-table.js'
import { group, readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer } from './server/server.js'

export function addTasks(program: Command): void {
  const tasks = group(program, 'tasks', 'Inspect the functions that a task plan can use.')
  readingCommand(tasks, {
    usage: 'list',
    description: 'List the registered functions, and the files that could not be loaded.',
    examples: ['tasks list', 'tasks list --json | jq ".items[].name"'],
  }).action(list)
}

async function list(flags: ServerFlags & FormatFlags): Promise<void> {
  const server = await openServer(flags)
  const answer = await server.ask(server.api.GET('/tasks'))
  if (isData(flags)) return printData(answer, flags)
  printTable(
    ['name', 'language', 'signature', 'adds', 'drops', 'file', 'doc'],
    answer.items.map((one) => [
      one.name,
      one.language,
      one.signature,
      Object.entries(one.adds)
        .map(([column, type]) => `${column} ${type}`)
        .join(', ') || null,
      one.drops.join(', ') || null,
      one.file,
      one.doc.split('\n')[0] || null,
    ]),
    'No tasks are registered; see docs/guides/python-tasks.md.',
  )
  for (const { file, message } of answer.problems) print(`${bad('✗')} ${file}: ${message}`)
}
