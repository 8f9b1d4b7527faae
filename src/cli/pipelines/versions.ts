import type { Command } from 'commander'
import { type Format, formatOption, isData, jsonOption, printData } from '../output/format.js'
import { print } from '../output/print.js'
import { momentText } from '../output/print-table.js'
import { serverCommand } from '../program/command.js'
import { listCommand } from '../program/list-command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'
import { checkpointFields, TAKE_OVER } from './update.js'

interface RestoreFlags extends ServerFlags {
  readonly output?: Format
  readonly resetCheckpoint?: boolean
  readonly keepCheckpoint?: boolean
  readonly takeOver?: boolean
}

export function addVersions(pipelines: Command): void {
  listCommand(pipelines, {
    usage: 'versions <pipeline>',
    description: 'List the configuration versions of a pipeline, newest first.',
    examples: ['pipelines versions film_dim', 'pipelines versions film_dim --json | jq ".items[0].diff"'],
    route: '/pipelines/{id}/versions',
    pages: { of: 'versions', limit: 20 },
    columns: {
      version: ({ version }) => version,
      at: ({ at }) => momentText(at),
      author: ({ author }) => author,
      changed: ({ diff }) => Object.keys(diff).join(', '),
    },
    none: 'No versions found.',
  })
  serverCommand(pipelines, {
    usage: 'restore <pipeline> <version>',
    description: 'Restore an earlier version, as a new version.',
    examples: ['pipelines restore film_dim 3'],
  })
    .option('--reset-checkpoint', 'read everything again from the start')
    .option('--keep-checkpoint', 'continue from the current checkpoint')
    .option('--take-over', TAKE_OVER)
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(restore)
}

async function restore(name: string, version: string, flags: RestoreFlags): Promise<void> {
  const server = await openServer(flags)
  const { id, config_version } = await findPipeline(server, name)
  const params = { path: { id, version }, query: { take_over: flags.takeOver ?? false } }
  const headers = { 'if-match': `"${config_version}"` }
  const body = checkpointFields(flags)
  const pipeline = await server.ask(
    server.api.POST('/pipelines/{id}/versions/{version}/restore', { params, headers, body }),
  )
  if (isData(flags)) printData(pipeline, flags)
  else print(`Restored version ${version} of ${pipeline.name}, now at version ${pipeline.config_version}.`)
}
