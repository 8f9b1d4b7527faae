import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from '../output/format.js'
import { print } from '../output/print.js'
import { momentText, printFields, printTable } from '../output/print-table.js'
import { readingCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'
import type { Pipeline } from '../server/wire.js'

export function addGet(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'get <name>',
    description: 'Show a pipeline with its tasks.',
    examples: ['pipelines get film_dim', 'pipelines get film_dim --json | jq -r .source_query'],
  }).action(async (name: string, flags: ServerFlags & FormatFlags) => {
    const pipeline = await findPipeline(await openServer(flags), name)
    if (isData(flags)) printData(pipeline, flags)
    else printPipeline(pipeline)
  })
}

function printPipeline({
  tasks,
  tags,
  key_columns,
  source_columns,
  target_options,
  after,
  checks,
  engine_options,
  created_at,
  updated_at,
  ...fields
}: Pipeline): void {
  printFields({
    ...fields,
    tags: tags.join(', '),
    source_columns: source_columns.join(', '),
    key_columns: key_columns.join(', '),
    target_options: JSON.stringify(target_options),
    after: Array.isArray(after) ? after.join(', ') : after,
    checks: checks.map(({ name }) => name).join(', '),
    engine_options: JSON.stringify(engine_options),
    created_at: momentText(created_at),
    updated_at: momentText(updated_at),
  })
  if (tasks.length === 0) return
  print()
  printTable(
    ['task', 'type', 'body', 'target'],
    tasks.map((task) => [task.order_index, task.task_type, task.body, task.target_table]),
    '',
  )
}
