import { type Command, Option } from 'commander'
import { PIPELINE_STATUSES } from '../../model/status.js'
import { type Format, isData, printData } from '../output/format.js'
import { printTable, tellOfMore } from '../output/print-table.js'
import { collect, readingCommand, wholeNumber } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { type PageFlags, pageOrAll } from '../server/pages.js'
import { openServer } from '../server/server.js'
import type { PipelineStatus } from '../server/wire.js'

interface Flags extends ServerFlags, PageFlags {
  readonly output?: Format
  readonly status?: PipelineStatus
  readonly enabled?: boolean
  readonly disabled?: boolean
  readonly q?: string
  readonly tag?: readonly string[]
}

export function addList(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'list',
    description: 'List the pipelines by name.',
    examples: [
      'pipelines list',
      'pipelines list --status FAILED',
      'pipelines list --tag reports',
      'pipelines list --json | jq -r ".items[].name"',
    ],
  })
    .addOption(new Option('--status <status>', 'only pipelines with this status').choices(PIPELINE_STATUSES))
    .option('--enabled', 'only enabled pipelines')
    .option('--disabled', 'only disabled pipelines')
    .option('--q <text>', 'only pipelines whose name contains this')
    .option('--tag <tag>', 'only pipelines with this tag; repeat the option for several', collect)
    .option('--limit <n>', 'maximum number of pipelines (default: all)', wholeNumber)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(list)
}

async function list(flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const filter = {
    ...(flags.status && { status: flags.status }),
    ...(flags.q && { q: flags.q }),
    ...(flags.tag && { tag: [...flags.tag] }),
    ...enabledFilter(flags),
  }
  const page = await pageOrAll(flags, (one) =>
    server.ask(server.api.GET('/pipelines', { params: { query: { ...filter, ...one } } })),
  )
  if (isData(flags)) return printData(page, flags)
  printTable(
    ['name', 'status', 'enabled', 'mode', 'target', 'schedule', 'tags', 'version', 'id'],
    page.items.map((one) => [
      one.name,
      one.status,
      one.enabled ? 'yes' : 'no',
      one.mode,
      one.target_table,
      one.schedule_interval,
      one.tags.join(', '),
      one.config_version,
      one.id,
    ]),
    'No pipelines found.',
  )
  tellOfMore(page.next_cursor)
}

function enabledFilter({ enabled, disabled }: Flags): { enabled?: boolean } {
  if (enabled) return { enabled: true }
  return disabled ? { enabled: false } : {}
}
