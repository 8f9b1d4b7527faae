import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from './output/format.js'
import { detail } from './output/print.js'
import { printTable } from './output/print-table.js'
import { inlineText } from './output/terminal-text.js'
import { readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer } from './server/server.js'

export function addGraph(program: Command): void {
  readingCommand(program, {
    usage: 'graph',
    description: 'Show the run order of the pipelines, and which ones are due.',
    examples: ['graph', 'graph --json | jq ".nodes[] | select(.due != null)"'],
  }).action(graph)
}

async function graph(flags: ServerFlags & FormatFlags): Promise<void> {
  const server = await openServer(flags)
  const answer = await server.ask(server.api.GET('/graph'))
  if (isData(flags)) return printData(answer, flags)
  const names = new Map(answer.nodes.map(({ id, name }) => [id, name]))
  const isGrouped = answer.nodes.some(({ group }) => group !== null)
  const upstream = new Map<string, Set<string>>()
  for (const { from, to } of answer.edges)
    upstream.set(to, (upstream.get(to) ?? new Set()).add(names.get(from) ?? from))
  printTable(
    ['pipeline', 'follows', 'status', 'due', 'waits', ...(isGrouped ? ['published with'] : [])],
    answer.nodes.map(({ id, name, status, due, group }) => [
      name,
      [...(upstream.get(id) ?? [])].join(', '),
      status,
      due === null ? null : due.changed.join(', ') || 'requested',
      due?.waiting?.detail ?? null,
      ...(isGrouped ? [(group ?? []).filter((one) => one !== name).join(', ') || null] : []),
    ]),
    'No pipelines found.',
  )
  for (const problem of answer.problems)
    detail(inlineText(`${names.get(problem.pipeline_id)}: ${problem.detail}`))
}
