import type { Command } from 'commander'
import { yamlText } from '../../config/pipeline-yaml.js'
import { type Format, isData, printData } from '../output/format.js'
import { detail, print } from '../output/print.js'
import { printTable } from '../output/print-table.js'
import { machineText } from '../output/terminal-text.js'
import { readingCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'
import type { Profile } from '../server/wire.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly refresh?: boolean
  readonly checks?: boolean
}

export function addProfile(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'profile <pipeline>',
    description:
      'Show a profile of each column of a mart in PostgreSQL: NULLs, different values, lowest and highest value. The server keeps it until --refresh.',
    examples: ['pipelines profile film_dim --refresh', 'pipelines profile film_dim --checks'],
  })
    .option('--refresh', 'compute it again')
    .option('--checks', 'print the suggested checks as YAML instead')
    .action(profile)
}

async function profile(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const params = { ...(await pipelinePath(server, name)), query: { refresh: flags.refresh ?? false } }
  const found = await server.ask(server.api.GET('/pipelines/{id}/profile', { params }))
  if (isData(flags)) return printData(flags.checks ? found.suggested_checks : found, flags)
  if (flags.checks) {
    process.stdout.write(machineText(yamlText({ checks: found.suggested_checks })))
    return
  }
  printProfile(found)
}

function printProfile(found: Profile): void {
  const about = (value: number, isExact: boolean) => `${isExact ? '' : '~'}${value}`
  print(`${found.target_table}: ${about(found.rows, found.rows_exact)} rows`)
  printTable(
    ['column', 'type', 'nulls', 'distinct', 'min', 'max', 'most common'],
    found.columns.map((column) =>
      column.skipped === null
        ? [
            column.name,
            column.type,
            about(column.nulls, column.nulls_exact),
            about(column.distinct, column.distinct_exact),
            column.min,
            column.max,
            column.common
              .slice(0, 3)
              .map(({ value, count }) => `${value} (${count})`)
              .join(', '),
          ]
        : [column.name, column.type, '?', '?', '?', '?', column.skipped],
    ),
    '',
  )
  if (found.sample_percent !== null)
    detail(`Estimated from ${found.rows_examined} rows: ${found.sample_percent} % of the blocks were read.`)
  detail(
    `Computed at ${found.computed_at}${found.outdated ? '; the mart has changed since, so add --refresh' : ''}.`,
  )
  if (found.suggested_checks.length > 0)
    detail(`Suggested checks: ${found.suggested_checks.length}; print them with --checks.`)
}
