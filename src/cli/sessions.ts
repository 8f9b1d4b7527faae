import type { Command } from 'commander'
import { VitrinaError } from '../model/errors.js'
import { type FormatFlags, isData, printData } from './output/format.js'
import { print } from './output/print.js'
import { moment, printTable, tellOfMore } from './output/print-table.js'
import { group, readingCommand, serverCommand, wholeNumber } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { type PageFlags, pageOrAll } from './server/pages.js'
import { openServer } from './server/server.js'

interface EveryoneFlag {
  readonly everyone?: true
}

interface EndFlags extends ServerFlags, EveryoneFlag {
  readonly all?: true
}

const EVERYONE = 'sessions of all tokens; requires the role admin (default: sessions of this token)'

export function addSessions(program: Command): void {
  const sessions = group(program, 'sessions', 'List signed-in browsers and sign them out.')
  readingCommand(sessions, {
    usage: 'list',
    description: 'List signed-in browsers.',
    examples: ['sessions list', 'sessions list --everyone'],
  })
    .option('--everyone', EVERYONE)
    .option('--limit <n>', 'maximum number of sessions (default: all)', wholeNumber)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(list)
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

async function list({ everyone, ...flags }: ServerFlags & PageFlags & FormatFlags & EveryoneFlag) {
  const server = await openServer(flags)
  const page = await pageOrAll(flags, (query) =>
    server.ask(
      server.api.GET('/sessions', { params: { query: { ...query, ...(everyone && { everyone }) } } }),
    ),
  )
  if (isData(flags)) return printData(page, flags)
  printTable(
    ['token', 'role', 'signed in', 'last used', 'expires', 'from', 'browser', 'id'],
    page.items.map((one) => [
      one.name,
      one.role,
      moment(one.created_at),
      moment(one.last_used_at),
      moment(one.expires_at),
      one.opened_from,
      one.user_agent,
      one.id,
    ]),
    'No browser is signed in.',
  )
  tellOfMore(page.next_cursor)
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
