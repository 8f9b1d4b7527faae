import type { Command } from 'commander'
import { type Format, isData, printData } from './output/format.js'
import { moment, printTable, tellOfMore } from './output/print-table.js'
import { readingCommand, wholeNumber } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer } from './server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly limit: number
  readonly cursor?: string
  readonly action?: string
  readonly target?: string
  readonly pipeline?: string
  readonly actor?: string
  readonly request?: string
  readonly since?: string
  readonly until?: string
}

export function addAudit(program: Command): void {
  readingCommand(program, {
    usage: 'audit',
    description: 'List who changed what, newest first.',
    examples: ['audit --limit 50', 'audit --pipeline film_dim --action pipeline.change --json'],
  })
    .option('--pipeline <name>', 'only actions on this pipeline')
    .option('--target <id>', 'only actions on the object with this id')
    .option(
      '--action <name>',
      'only this action, such as pipeline.change; with a trailing dot, such as pipeline., every action with this prefix',
    )
    .option('--actor <name>', 'only actions by users whose name contains this')
    .option('--request <id>', 'only actions of this request')
    .option('--since <time>', 'only actions at or after this time, such as 2026-11-15T00:00:00Z')
    .option('--until <time>', 'only actions before this time')
    .option('--limit <n>', 'maximum number of entries', wholeNumber, 20)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(audit)
}

async function audit(flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const { limit, cursor, action, target, pipeline, actor, request, since, until } = flags
  const query = {
    limit,
    ...(cursor && { cursor }),
    ...(action && { action }),
    ...(target && { target_id: target }),
    ...(pipeline && { pipeline_id: (await findPipeline(server, pipeline)).id }),
    ...(actor && { actor }),
    ...(request && { request_id: request }),
    ...(since && { since }),
    ...(until && { until }),
  }
  const page = await server.ask(server.api.GET('/audit', { params: { query } }))
  if (isData(flags)) return printData(page, flags)
  printTable(
    ['at', 'actor', 'action', 'target', 'changed'],
    page.items.map((one) => [
      moment(one.at),
      one.actor,
      one.action,
      one.target_name ?? one.target_id,
      Object.keys(one.diff).join(', '),
    ]),
    'No actions found.',
  )
  tellOfMore(page.next_cursor)
}
