import type { Command } from 'commander'
import { VitrinaError } from '../../model/errors.js'
import { inPlaceOf } from '../files/mistakes.js'
import { formatOption, isData, jsonOption, printData } from '../output/format.js'
import { detail, print } from '../output/print.js'
import { confirm, isTerminal, serverCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'
import { addFieldOptions, type FieldFlags, fieldsOfFlags } from './fields.js'

interface Flags extends FieldFlags {
  readonly enable?: boolean
  readonly disable?: boolean
  readonly ifMatch?: string
  readonly resetCheckpoint?: boolean
  readonly keepCheckpoint?: boolean
  readonly takeOver?: boolean
}

export const TAKE_OVER = 'change a pipeline that is managed by a file; from then on it is managed here'

export function addUpdate(pipelines: Command): void {
  addFieldOptions(
    serverCommand(pipelines, {
      usage: 'update <pipeline>',
      description: 'Change fields of a pipeline; other fields keep their values.',
      examples: [
        'pipelines update film_dim --batch-size 5000',
        'pipelines update film_dim --query-file film_dim.sql --reset-checkpoint',
      ],
    }),
  )
    .option('--reset-checkpoint', 'read everything again from the start')
    .option('--keep-checkpoint', 'continue from the current checkpoint after a change that invalidates it')
    .option('--if-match <version>', 'change the pipeline only if it is still at this version')
    .option('--take-over', TAKE_OVER)
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(update)
  addDelete(pipelines)
}

async function update(name: string, flags: Flags): Promise<void> {
  const { fields, file } = await fieldsOfFlags(flags)
  if (Object.keys(fields).length === 0)
    throw new VitrinaError(
      'USAGE_INVALID',
      'No changes given.',
      'Run "vitrina pipelines update --help" to list the options.',
    )
  const server = await openServer(flags)
  const before = await findPipeline(server, name)
  const version = flags.ifMatch ?? String(before.config_version)
  const query = { take_over: flags.takeOver ?? false }
  const params = { path: { id: before.id }, header: { 'if-match': `"${version}"` }, query }
  const body = { ...fields, ...checkpointFields(flags) }
  const after = await inPlaceOf(file, () =>
    server.ask(server.api.PATCH('/pipelines/{id}', { params, body: body as never })),
  )
  if (isData(flags)) return printData(after, flags)
  const same = after.config_version === before.config_version
  print(
    same
      ? `${after.name} is unchanged: it already has these values.`
      : `Changed ${after.name}, now at version ${after.config_version}.`,
  )
}

export function checkpointFields(flags: { resetCheckpoint?: boolean; keepCheckpoint?: boolean }) {
  if (flags.resetCheckpoint && flags.keepCheckpoint)
    throw new VitrinaError(
      'USAGE_INVALID',
      '--reset-checkpoint and --keep-checkpoint cannot be combined.',
      'Give only one of them.',
    )
  if (flags.resetCheckpoint) return { reset_checkpoint: true }
  return flags.keepCheckpoint ? { reset_checkpoint: false } : {}
}

function addDelete(pipelines: Command): void {
  serverCommand(pipelines, {
    usage: 'delete <pipeline>',
    description: 'Delete a pipeline with its runs. The mart is kept. On a terminal, asks for confirmation.',
    examples: ['pipelines delete film_dim', 'pipelines delete film_dim --yes'],
  })
    .option('--yes', 'do not prompt')
    .option('--take-over', TAKE_OVER)
    .action(async (name: string, flags: ServerFlags & { yes?: boolean; takeOver?: boolean }) => {
      const server = await openServer(flags)
      const { id, name: found, config_version } = await findPipeline(server, name)
      // A script named the pipeline, which is as clear as a confirmation.
      if (isTerminal() && !(await confirm(`Delete pipeline ${found} with its runs?`, flags)))
        return detail('Nothing was deleted.')
      const query = { take_over: flags.takeOver ?? false }
      const params = { path: { id }, header: { 'if-match': `"${config_version}"` }, query }
      await server.ask(server.api.DELETE('/pipelines/{id}', { params }))
      print(`Deleted ${found}.`)
    })
}
