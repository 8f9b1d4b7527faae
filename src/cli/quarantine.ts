import { type Command, Option } from 'commander'
import { QUARANTINE_STATUSES, type QuarantineStatus } from '../model/history.js'
import { type Format, formatOption, isData, jsonOption, printData } from './output/format.js'
import { print } from './output/print.js'
import { moment, printTable, tellOfMore } from './output/print-table.js'
import { group, readingCommand, serverCommand, wholeNumber } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline, pathOf } from './server/find-pipeline.js'
import { openServer } from './server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
}

interface ListFlags extends Flags {
  readonly status?: QuarantineStatus
  readonly limit: number
  readonly cursor?: string
}

export function addQuarantine(program: Command): void {
  const quarantine = group(program, 'quarantine', 'Manage rows that a target rejected.')
  readingCommand(quarantine, {
    usage: 'list <pipeline>',
    description: 'List quarantined rows, newest first.',
    examples: ['quarantine list film_dim', 'quarantine list film_dim --status HELD --json'],
  })
    .addOption(new Option('--status <status>', 'only rows with this status').choices(QUARANTINE_STATUSES))
    .option('--limit <n>', 'maximum number of rows', wholeNumber, 20)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(list)
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

async function list(name: string, flags: ListFlags): Promise<void> {
  const server = await openServer(flags)
  const { status, limit, cursor } = flags
  const params = {
    ...(await pathOf(server, name)),
    query: { limit, ...(status && { status }), ...(cursor && { cursor }) },
  }
  const page = await server.ask(server.api.GET('/pipelines/{id}/quarantine', { params }))
  if (isData(flags)) return printData(page, flags)
  printTable(
    ['row', 'status', 'key', 'refused', 'reason'],
    page.items.map((one) => [one.id, one.status, one.key, moment(one.refused_at), one.reason]),
    'No quarantined rows.',
  )
  tellOfMore(page.next_cursor)
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
