import type { Command } from 'commander'
import { readingCommand, wholeNumber } from './command.js'
import { type Format, isData, printData } from './format.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer } from './server/server.js'
import { moment, printTable, tellOfMore } from './show.js'

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
  readingCommand(
    program,
    'audit',
    'List who changed what, newest first.',
    'audit --limit 50',
    'audit --pipeline film_dim --action pipeline.change --json',
  )
    .option('--pipeline <name>', 'only what was done to this pipeline')
    .option('--target <id>', 'only what was done to this')
    .option(
      '--action <name>',
      'only deeds of this name, such as pipeline.change; pipeline. for all that begin so',
    )
    .option('--actor <name>', 'only deeds of those whose name holds this')
    .option('--request <id>', 'only what this request did')
    .option('--since <time>', 'only what was done at this time or later, such as 2026-11-15T00:00:00Z')
    .option('--until <time>', 'only what was done before this time')
    .option('--limit <n>', 'how many', wholeNumber, 20)
    .option('--cursor <cursor>', 'the page after this one')
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
    'Nothing was done yet.',
  )
  tellOfMore(page.next_cursor)
}
