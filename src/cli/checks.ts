import type { Command } from 'commander'
import { group, readingCommand, wholeNumber } from './command.js'
import { type FormatFlags, isData, printData } from './format.js'
import { bad, good, print } from './output.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { type PageFlags, pageOrAll } from './server/pages.js'
import { openServer } from './server/server.js'
import type { CheckState } from './server/wire.js'
import { duration, moment, printTable, tellOfMore } from './show.js'

type Flags = ServerFlags & FormatFlags

export function addChecks(program: Command): void {
  const checks = group(program, 'checks', 'Show the data checks of pipelines, and evaluate them over a mart.')
  readingCommand(checks, {
    usage: 'list [pipeline]',
    description: 'List the data checks of a pipeline, or of all pipelines, with their last results.',
    examples: ['checks list', 'checks list film_dim', 'checks list --status failed'],
  })
    .option('--status <status>', 'only checks whose last result has this status')
    .option('--limit <n>', 'maximum number of checks (default: all)', wholeNumber)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(list)
  readingCommand(checks, {
    usage: 'run <pipeline>',
    description:
      'Evaluate the data checks of a pipeline over the rows that its mart has now. Exit code 1 if one with on_failure "fail" or "quarantine" fails. Changes no row.',
    examples: ['checks run film_dim'],
  }).action(run)
}

async function list(
  name: string | undefined,
  flags: Flags & PageFlags & { status?: CheckState['status'] },
): Promise<void> {
  const server = await openServer(flags)
  const pipeline = name === undefined ? null : await findPipeline(server, name)
  const filter = {
    ...(pipeline === null ? {} : { pipeline_id: pipeline.id }),
    ...(flags.status === undefined ? {} : { status: flags.status }),
  }
  const page = await pageOrAll(flags, (query) =>
    server.ask(server.api.GET('/checks', { params: { query: { ...query, ...filter } } })),
  )
  if (isData(flags)) return printData(page, flags)
  printStates(page.items, pipeline === null)
  tellOfMore(page.next_cursor)
}

async function run(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const { id } = await findPipeline(server, name)
  const params = { path: { id } }
  const answer = await server.ask(
    server.api.POST('/pipelines/{id}/checks/run', { params, ...server.patiently }),
  )
  const failed = answer.items.filter(isBad)
  if (failed.length > 0) process.exitCode = 1
  if (isData(flags)) return printData(answer, flags)
  printStates(answer.items, false)
  for (const { name: check, message, sample } of answer.items.filter(({ message }) => message !== ''))
    print(`${check}: ${message}${sample.length === 0 ? '' : ` For example ${sample.join(', ')}.`}`)
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

function printStates(items: readonly CheckState[], withPipeline: boolean): void {
  const first = withPipeline ? ['pipeline'] : []
  printTable(
    [...first, 'check', 'type', 'on failure', 'status', 'failed rows', 'observed', 'checked'],
    items.map((item) => [
      ...(withPipeline ? [item.pipeline_name] : []),
      ...[item.name, item.type, item.on_failure, item.status, item.failed_rows],
      ...[observedOf(item), item.checked_at === null ? null : moment(item.checked_at)],
    ]),
    'No checks.',
  )
}
