import { type Command, Option } from 'commander'
import { QUARANTINE_STATUSES } from '../model/history.js'
import { type Format, formatOption, isData, jsonOption, printData } from './output/format.js'
import { print } from './output/print.js'
import { momentText } from './output/print-table.js'
import { group, serverCommand } from './program/command.js'
import { listCommand } from './program/list-command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer } from './server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
}

export function addQuarantine(program: Command): void {
  const quarantine = group(program, 'quarantine', 'Manage rows that a target rejected.')
  listCommand(quarantine, {
    usage: 'list <pipeline>',
    description: 'List quarantined rows, newest first.',
    examples: ['quarantine list film_dim', 'quarantine list film_dim --status HELD --json'],
    route: '/pipelines/{id}/quarantine',
    filters: [
      {
        equals: 'status',
        option: new Option('--status <status>', 'only rows with this status').choices(QUARANTINE_STATUSES),
      },
    ],
    pages: { of: 'rows', limit: 20 },
    columns: {
      row: ({ id }) => id,
      status: ({ status }) => status,
      key: ({ key }) => key,
      refused: ({ refused_at }) => momentText(refused_at),
      reason: ({ reason }) => reason,
    },
    none: 'No quarantined rows.',
  })
  serverCommand(quarantine, {
    usage: 'replay <pipeline> <row>',
    description: 'Request a run that retries the row.',
    examples: ['quarantine replay film_dim 17'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(replay)
  serverCommand(quarantine, {
    usage: 'discard <pipeline> <row>',
    description: 'Discard the row.',
    examples: ['quarantine discard film_dim 17'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(discard)
}

async function replay(name: string, row: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const path = { id: (await findPipeline(server, name)).id, row_id: row }
  const answer = await server.ask(
    server.api.POST('/pipelines/{id}/quarantine/{row_id}/replay', { params: { path } }),
  )
  if (isData(flags)) printData(answer, flags)
  else
    print(
      `Row ${row} will be retried by ${answer.replay_run_id === null ? 'the next run' : `run ${answer.replay_run_id}`}.`,
    )
}

async function discard(name: string, row: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const path = { id: (await findPipeline(server, name)).id, row_id: row }
  const answer = await server.ask(
    server.api.POST('/pipelines/{id}/quarantine/{row_id}/discard', { params: { path } }),
  )
  if (isData(flags)) printData(answer, flags)
  else print(`Row ${row} is ${answer.status}.`)
}
