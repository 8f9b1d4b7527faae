import { type Command, Option } from 'commander'
import { PIPELINE_STATUSES } from '../../model/status.js'
import { collect } from '../program/command.js'
import { listCommand } from '../program/list-command.js'

export function addList(pipelines: Command): void {
  listCommand(pipelines, {
    usage: 'list',
    description: 'List the pipelines by name.',
    examples: [
      'pipelines list',
      'pipelines list --status FAILED',
      'pipelines list --tag reports',
      'pipelines list --json | jq -r ".items[].name"',
    ],
    route: '/pipelines',
    filters: [
      {
        equals: 'status',
        option: new Option('--status <status>', 'only pipelines with this status').choices(PIPELINE_STATUSES),
      },
      { option: new Option('--enabled', 'only enabled pipelines'), query: () => ({ enabled: true }) },
      { option: new Option('--disabled', 'only disabled pipelines'), query: () => ({ enabled: false }) },
      { equals: 'q', option: new Option('--q <text>', 'only pipelines whose name contains this') },
      {
        equals: 'tag',
        option: new Option(
          '--tag <tag>',
          'only pipelines with this tag; repeat the option for several',
        ).argParser(collect),
      },
    ],
    pages: { of: 'pipelines' },
    columns: {
      name: ({ name }) => name,
      status: ({ status }) => status,
      enabled: ({ enabled }) => (enabled ? 'yes' : 'no'),
      mode: ({ mode }) => mode,
      target: ({ target_table }) => target_table,
      schedule: ({ schedule_interval }) => schedule_interval,
      tags: ({ tags }) => tags.join(', '),
      version: ({ config_version }) => config_version,
      id: ({ id }) => id,
    },
    none: 'No pipelines found.',
  })
}
