import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from './output/format.js'
import { duration, moment, printTable } from './output/print-table.js'
import { group, readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer } from './server/server.js'

export function addRunners(program: Command): void {
  const runners = group(program, 'runners', 'Inspect runners.')
  readingCommand(runners, {
    usage: 'list',
    description: 'List runners and the pipelines they hold.',
    examples: ['runners list', 'runners list --json | jq ".items[].holds"'],
  }).action(async (flags: ServerFlags & FormatFlags) => {
    const server = await openServer(flags)
    const answer = await server.ask(server.api.GET('/runners'))
    if (isData(flags)) return printData(answer, flags)
    printTable(
      ['runner', 'host', 'pid', 'version', 'tags', 'started', 'last seen', 'stopped', 'holds'],
      answer.items.map((one) => [
        one.id,
        one.host,
        one.pid,
        one.version,
        tagsText(one.tags),
        moment(one.started_at),
        `${duration(one.heartbeat_age_ms)} ago`,
        moment(one.stopped_at),
        one.holds.map(({ name }) => name).join(', '),
      ]),
      'No runners found. Run "vitrina runner" to start one.',
    )
  })
}

/** As in RUNNER_TAGS. */
function tagsText(tags: Readonly<Record<string, number>> | null): string {
  if (tags === null) return 'all'
  return Object.entries(tags)
    .map(([tag, slots]) => `${tag}:${slots}`)
    .join(',')
}
