import type { Command } from 'commander'
import { duration, momentText } from './output/print-table.js'
import { group } from './program/command.js'
import { listCommand } from './program/list-command.js'

export function addRunners(program: Command): void {
  const runners = group(program, 'runners', 'Inspect runners.')
  listCommand(runners, {
    usage: 'list',
    description: 'List runners and the pipelines they hold.',
    examples: ['runners list', 'runners list --json | jq ".items[].holds"'],
    route: '/runners',
    columns: {
      runner: ({ id }) => id,
      host: ({ host }) => host,
      pid: ({ pid }) => pid,
      version: ({ version }) => version,
      tags: ({ tags }) => tagsText(tags),
      started: ({ started_at }) => momentText(started_at),
      'last seen': ({ heartbeat_age_ms }) => `${duration(heartbeat_age_ms)} ago`,
      stopped: ({ stopped_at }) => momentText(stopped_at),
      holds: ({ holds }) => holds.map(({ name }) => name).join(', '),
    },
    none: 'No runners found. Run "vitrina runner" to start one.',
  })
}

/** As in RUNNER_TAGS. */
function tagsText(tags: Readonly<Record<string, number>> | null): string {
  if (tags === null) return 'all'
  return Object.entries(tags)
    .map(([tag, slots]) => `${tag}:${slots}`)
    .join(',')
}
