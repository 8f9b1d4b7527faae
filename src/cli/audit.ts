import { type Command, Option } from 'commander'
import { momentText } from './output/print-table.js'
import { listCommand } from './program/list-command.js'
import { findPipeline } from './server/find-pipeline.js'

export function addAudit(program: Command): void {
  listCommand(program, {
    usage: 'audit',
    description: 'List the entries of the audit log, newest first.',
    examples: ['audit --limit 50', 'audit --pipeline film_dim --action pipeline.change --json'],
    route: '/audit',
    filters: [
      {
        option: new Option('--pipeline <name>', 'only actions on this pipeline'),
        query: async (name, server) =>
          name === '' ? {} : { pipeline_id: (await findPipeline(server, name)).id },
      },
      { equals: 'target_id', option: new Option('--target <id>', 'only actions on the object with this id') },
      {
        equals: 'action',
        option: new Option(
          '--action <name>',
          'only this action, such as pipeline.change; with a trailing dot, such as pipeline., every action with this prefix',
        ),
      },
      {
        equals: 'actor',
        option: new Option('--actor <name>', 'only actions by users whose name contains this'),
      },
      { equals: 'request_id', option: new Option('--request <id>', 'only actions of this request') },
      {
        equals: 'since',
        option: new Option(
          '--since <time>',
          'only actions at or after this time, such as 2026-11-15T00:00:00Z',
        ),
      },
      { equals: 'until', option: new Option('--until <time>', 'only actions before this time') },
    ],
    pages: { of: 'entries', limit: 20 },
    columns: {
      at: ({ at }) => momentText(at),
      actor: ({ actor }) => actor,
      action: ({ action }) => action,
      target: ({ target_name, target_id }) => target_name ?? target_id,
      changed: ({ diff }) => Object.keys(diff).join(', '),
    },
    none: 'No actions found.',
  })
}
