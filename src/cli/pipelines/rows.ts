import type { Command } from 'commander'
import { type Format, isData, printData } from '../output/format.js'
import { detail } from '../output/print.js'
import { printTable } from '../output/print-table.js'
import { readingCommand, wholeNumber } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly limit: number
  readonly sort?: string
  readonly filter?: string
  readonly cursor?: string
}

export function addRows(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'rows <pipeline>',
    description: 'Show rows of a mart in PostgreSQL.',
    examples: [
      'pipelines rows film_dim --limit 5',
      'pipelines rows film_dim --sort -rating --filter "rating >= 8 and title contains \'star\'"',
    ],
  })
    .option('--limit <n>', 'maximum number of rows, up to 200', wholeNumber, 20)
    .option('--sort <column>', 'the column to sort by; for descending order with "-" before it')
    .option(
      '--filter <conditions>',
      'conditions joined by "and"; operators = != < <= > >=, contains, in (…), is null',
    )
    .option('--cursor <cursor>', 'next_cursor of the previous page')
    .action(rows)
}

async function rows(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const { limit, sort, filter, cursor } = flags
  const query = {
    limit,
    ...(sort === undefined ? {} : { sort }),
    ...(filter === undefined ? {} : { filter }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  const params = { ...(await pipelinePath(server, name)), query }
  const page = await server.ask(server.api.GET('/pipelines/{id}/rows', { params }))
  if (isData(flags)) return printData(flags.output === 'ndjson' ? { items: page.rows } : page, flags)
  printTable(
    page.columns.map((column) => column.name),
    page.rows.map((row) => page.columns.map((column) => row[column.name] ?? null)),
    filter === undefined ? 'The mart has no rows.' : 'No row of the mart matches the filter.',
  )
  if (page.hidden_columns.length > 0)
    detail(`Columns that the login of the API may not read: ${page.hidden_columns.join(', ')}.`)
  if (page.next_cursor !== null) detail(`There are more rows: add --cursor ${page.next_cursor}`)
}
