import type { Command } from 'commander'
import { inPlaceOf } from '../files/mistakes.js'
import { type Format, isData, printData } from '../output/format.js'
import { detail } from '../output/print.js'
import { printTable } from '../output/print-table.js'
import { allowEnvOption, readingCommand, wholeNumber } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer, type Server } from '../server/server.js'
import type { Preview } from '../server/wire.js'
import { readOne } from './fields.js'
import { requireOne } from './validate.js'

interface Flags extends ServerFlags {
  readonly allowEnv?: readonly string[]
  readonly output?: Format
  readonly file?: string
  readonly limit: number
}

export function addPreview(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'preview [pipeline]',
    description: 'Show the first rows as they would be written. Writes nothing.',
    examples: ['pipelines preview film_dim --limit 5', 'pipelines preview --file film_dim.yaml'],
  })
    .option('--file <file>', 'a YAML file with an unsaved pipeline, - for stdin')
    .option('--limit <n>', 'maximum number of rows', wholeNumber, 10)
    .addOption(allowEnvOption())
    .action(preview)
}

async function preview(name: string | undefined, flags: Flags): Promise<void> {
  requireOne(name, flags.file)
  const answer = await read(await openServer(flags), name ?? '', flags)
  if (isData(flags)) return printData(answer, flags)
  printTable(
    answer.columns.map((column) => column.name),
    answer.rows.map((row) => answer.columns.map((column) => row[column.name] ?? null)),
    'The query returns no rows.',
  )
  if (answer.truncated) detail('Long values are shortened here, but not in the mart.')
}

async function read(
  server: Server,
  name: string,
  { file: path, limit, allowEnv = [] }: Flags,
): Promise<Preview> {
  const query = { limit }
  if (path === undefined) {
    const params = { ...(await pipelinePath(server, name)), query }
    return server.ask(server.api.POST('/pipelines/{id}/preview', { params }))
  }
  const file = await readOne(path, { allowEnv })
  return inPlaceOf(file, () =>
    server.ask(server.api.POST('/preview', { params: { query }, body: file.fields as never })),
  )
}
