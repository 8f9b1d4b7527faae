import type { Command } from 'commander'
import { inPlaceOf } from '../files/mistakes.js'
import { formatOption, isData, jsonOption, printData } from '../output/format.js'
import { detail, print } from '../output/print.js'
import { serverCommand } from '../program/command.js'
import { openServer } from '../server/server.js'
import { addFieldOptions, type FieldFlags, fieldsOfFlags } from './fields.js'

export function addCreate(pipelines: Command): void {
  addFieldOptions(
    serverCommand(pipelines, {
      usage: 'create',
      description: 'Create a pipeline from flags or from a file.',
      examples: [
        'pipelines create --name film_dim --query-file film_dim.sql --target analytics.film_dim --key film_id',
        'pipelines create --file film_dim.yaml',
      ],
    }),
  )
    .option('--disabled', 'create the pipeline disabled')
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(create)
}

async function create({ disabled, ...flags }: FieldFlags & { disabled?: boolean }): Promise<void> {
  const { fields, file } = await fieldsOfFlags(disabled ? { ...flags, enabled: false } : flags)
  const server = await openServer(flags)
  // The server reports everything that is missing or invalid, all at once.
  const made = await inPlaceOf(file, () =>
    server.ask(server.api.POST('/pipelines', { body: fields as never })),
  )
  if (isData(flags)) return printData(made, flags)
  print(`Created ${made.name}, id ${made.id}.`)
  detail(`Run "vitrina pipelines run ${made.name} --follow" to build its mart.`)
}
