import { type Command, Option } from 'commander'
import { VitrinaError } from '../model/errors.js'
import { print } from './output/print.js'
import { momentText } from './output/print-table.js'
import { group, serverCommand } from './program/command.js'
import { listCommand } from './program/list-command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer } from './server/server.js'

interface EndFlags extends ServerFlags {
  readonly all?: true
  readonly everyone?: true
}

const EVERYONE = 'sessions of all tokens; requires the role admin (default: sessions of this token)'

export function addSessions(program: Command): void {
  const sessions = group(program, 'sessions', 'List signed-in browsers and sign them out.')
  listCommand(sessions, {
    usage: 'list',
    description: 'List signed-in browsers.',
    examples: ['sessions list', 'sessions list --everyone'],
    route: '/sessions',
    filters: [{ option: new Option('--everyone', EVERYONE), query: () => ({ everyone: true }) }],
    pages: { of: 'sessions' },
    columns: {
      token: ({ name }) => name,
      role: ({ role }) => role,
      'signed in': ({ created_at }) => momentText(created_at),
      'last used': ({ last_used_at }) => momentText(last_used_at),
      expires: ({ expires_at }) => momentText(expires_at),
      from: ({ opened_from }) => opened_from,
      browser: ({ user_agent }) => user_agent,
      id: ({ id }) => id,
    },
    none: 'No browser is signed in.',
  })
  serverCommand(sessions, {
    usage: 'end [session]',
    description:
      'End a session by its id, together with the sessions opened by its sign-in codes; or end all sessions.',
    examples: ['sessions end 6f9619ff-8b86-d011-b42d-00cf4fc964ff', 'sessions end --all --everyone'],
  })
    .option('--all', 'all sessions')
    .option('--everyone', EVERYONE)
    .action(end)
}

async function end(id: string | undefined, { all, everyone, ...flags }: EndFlags): Promise<void> {
  if ((id === undefined) === (all === undefined))
    throw new VitrinaError(
      'USAGE_INVALID',
      'Give either the id of a session or --all.',
      'Run "vitrina sessions list" to list the sessions.',
    )
  const server = await openServer(flags)
  if (id !== undefined) {
    await server.ask(server.api.DELETE('/sessions/{id}', { params: { path: { id } } }))
    return print(`Ended session ${id}.`)
  }
  const query = everyone === undefined ? {} : { everyone }
  const { ended } = await server.ask(server.api.DELETE('/sessions', { params: { query } }))
  print(`Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`)
}
