import type { Command } from 'commander'
import { type Format, formatOption, isData, jsonOption, printData } from '../output/format.js'
import { print } from '../output/print.js'
import { serverCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly toKey?: string
  readonly toId?: string
}

export function addReset(pipelines: Command): void {
  serverCommand(pipelines, {
    usage: 'reset <pipeline>',
    description: 'Reset the checkpoint to the start, or set it to a value for a backfill.',
    examples: ['pipelines reset film_dim', 'pipelines reset film_dim --to-key 2024-05-01T00:00:00Z'],
  })
    .option('--to-key <value>', 'continue after this incremental_key')
    .option('--to-id <value>', 'among rows with an equal key, continue after this incremental_id_key')
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(reset)
}

async function reset(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const body = {
    ...(flags.toKey === undefined ? {} : { last_processed_key: flags.toKey }),
    ...(flags.toId === undefined ? {} : { last_processed_id: flags.toId }),
  }
  const params = await pipelinePath(server, name)
  const state = await server.ask(server.api.POST('/pipelines/{id}/reset', { params, body }))
  if (isData(flags)) return printData(state, flags)
  const to = state.last_processed_key === null ? 'the start' : state.last_processed_key
  print(`The next run of ${name} reads from ${to}.`)
}
