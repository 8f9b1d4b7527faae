import { type Command, Option } from 'commander'
import { type FormatFlags, isData, printData } from './output/format.js'
import { bad, good, print } from './output/print.js'
import { duration, momentText } from './output/print-table.js'
import { inlineText } from './output/terminal-text.js'
import { group, readingCommand } from './program/command.js'
import { type ListColumns, listCommand, printItems } from './program/list-command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer } from './server/server.js'
import type { CheckState } from './server/wire.js'

type Flags = ServerFlags & FormatFlags

const COLUMNS: ListColumns<CheckState> = {
  check: ({ name }) => name,
  type: ({ type }) => type,
  'on failure': ({ on_failure }) => on_failure,
  status: ({ status }) => status,
  'failed rows': ({ failed_rows }) => failed_rows,
  observed: observedOf,
  checked: ({ checked_at }) => momentText(checked_at),
}
const NONE = 'No checks.'

export function addChecks(program: Command): void {
  const checks = group(program, 'checks', 'Show the data checks of pipelines, and evaluate them over a mart.')
  listCommand(checks, {
    usage: 'list [pipeline]',
    description: 'List the data checks of a pipeline, or of all pipelines, with their last results.',
    examples: ['checks list', 'checks list film_dim', 'checks list --status failed'],
    route: '/checks',
    ofPipeline: (id) => ({ pipeline_id: id }),
    filters: [
      {
        option: new Option('--status <status>', 'only checks whose last result has this status'),
        query: (status) => ({ status: status as CheckState['status'] }),
      },
    ],
    pages: { of: 'checks' },
    columns: (pipeline) =>
      pipeline === undefined ? { pipeline: ({ pipeline_name }) => pipeline_name, ...COLUMNS } : COLUMNS,
    none: NONE,
  })
  readingCommand(checks, {
    usage: 'run <pipeline>',
    description:
      'Evaluate the data checks of a pipeline over the rows that its mart has now. Exit code 1 if one with on_failure "fail" or "quarantine" fails. Changes no row.',
    examples: ['checks run film_dim'],
  }).action(run)
}

async function run(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const { id } = await findPipeline(server, name)
  const params = { path: { id } }
  const answer = await server.ask(
    server.api.POST('/pipelines/{id}/checks/run', { params, ...server.withoutTimeout }),
  )
  const failed = answer.items.filter(isBad)
  if (failed.length > 0) process.exitCode = 1
  if (isData(flags)) return printData(answer, flags)
  printItems(COLUMNS, answer.items, NONE)
  for (const { name: check, message, sample } of answer.items.filter(({ message }) => message !== ''))
    print(
      inlineText(`${check}: ${message}${sample.length === 0 ? '' : ` (for example ${sample.join(', ')})`}`),
    )
  if (answer.items.length === 0) return
  print(
    failed.length === 0
      ? `${good('✓')} No check of ${name} fails.`
      : `${bad('✗')} ${failed.length} of ${answer.items.length} checks of ${name} fail.`,
  )
}

/** A warning does not fail the command. */
function isBad({ status, on_failure }: CheckState): boolean {
  return status === 'failed' || (status === 'error' && on_failure !== 'warn')
}

function observedOf({ type, observed }: CheckState): string | number | null {
  return type === 'freshness' && observed !== null ? `${duration(observed * 1000)} old` : observed
}
