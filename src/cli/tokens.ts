import { type Command, InvalidArgumentError, Option } from 'commander'
import { ROLES, type Role } from '../model/access.js'
import { VitrinaError } from '../model/errors.js'
import { isId } from '../model/id.js'
import { type Format, formatOption, isData, jsonOption, printData } from './output/format.js'
import { detail, print } from './output/print.js'
import { momentText } from './output/print-table.js'
import { group, serverCommand, timeSpan } from './program/command.js'
import { listCommand } from './program/list-command.js'
import type { ServerFlags } from './server/connection.js'
import { allPages } from './server/pages.js'
import { openServer, type Server } from './server/server.js'

interface CreateFlags extends ServerFlags {
  readonly name: string
  readonly role: Role
  readonly expires?: string
  readonly output?: Format
}

interface RotateFlags extends ServerFlags {
  readonly grace?: number
  readonly expires?: string
  readonly output?: Format
}

const DAY_MS = 86_400_000

export function addTokens(program: Command): void {
  const tokens = group(program, 'tokens', 'Create, list, rotate and revoke tokens.')
  serverCommand(tokens, {
    usage: 'create',
    description: 'Create a token. Its value is shown once and not stored.',
    examples: [
      'tokens create --name airflow --role operator --expires 90d',
      'tokens create --name grafana --role viewer --json | jq -r .token',
    ],
  })
    .requiredOption('--name <name>', 'what the token is for')
    .addOption(new Option('--role <role>', 'what the token may do').choices(ROLES).makeOptionMandatory())
    .option(
      '--expires <when>',
      'a number of days such as 90d, or a time such as 2030-01-31T00:00:00Z',
      expiry,
    )
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(create)
  listCommand(tokens, {
    usage: 'list',
    description: 'List the tokens without their values.',
    examples: ['tokens list'],
    route: '/tokens',
    pages: { of: 'tokens' },
    columns: {
      name: ({ name }) => name,
      role: ({ role }) => role,
      created: ({ created_at }) => momentText(created_at),
      by: ({ created_by }) => created_by,
      expires: ({ expires_at }) => momentText(expires_at),
      revoked: ({ revoked_at }) => momentText(revoked_at),
      'last used': ({ last_used_at }) => momentText(last_used_at),
      from: ({ last_used_from }) => last_used_from ?? '',
      id: ({ id }) => id,
    },
    none: 'No tokens except the administrator token.',
  })
  serverCommand(tokens, {
    usage: 'rotate <token>',
    description:
      'Replace the value of a token, given by id or name. The new value is shown once and not stored.',
    examples: ['tokens rotate airflow', 'tokens rotate airflow --grace 1h --expires 90d'],
  })
    .option(
      '--grace <time>',
      'how long the old value stays valid, such as 30m, 1h or 7d (default: not at all)',
      timeSpan,
    )
    .option('--expires <when>', 'new expiry, as days such as 90d or as a time (default: unchanged)', expiry)
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(rotate)
  serverCommand(tokens, {
    usage: 'revoke <token>',
    description: 'Revoke a token by its id or its name: it ends at once.',
    examples: ['tokens revoke airflow'],
  }).action(revoke)
}

async function create({ name, role, expires, ...flags }: CreateFlags): Promise<void> {
  const server = await openServer(flags)
  const body = { name, role, ...(expires === undefined ? {} : { expires_at: expires }) }
  const made = await server.ask(server.api.POST('/tokens', { body }))
  if (isData(flags)) return printData(made, flags)
  // Only the value goes to stdout, so that a script can store it.
  detail(
    `Created token ${made.name} with the role ${made.role}, id ${made.id}. Its value is shown only once:`,
  )
  print(made.token)
}

async function rotate(token: string, { grace: seconds, expires, ...flags }: RotateFlags): Promise<void> {
  const server = await openServer(flags)
  const id = isId(token) ? token : await idOf(server, token)
  const body = {
    ...(seconds === undefined ? {} : { grace_seconds: seconds }),
    ...(expires === undefined ? {} : { expires_at: expires }),
  }
  const made = await server.ask(server.api.POST('/tokens/{id}/rotate', { params: { path: { id } }, body }))
  if (isData(flags)) return printData(made, flags)
  const old = made.previous_until === null ? 'ended' : `is valid until ${momentText(made.previous_until)}`
  detail(`Rotated ${made.name}: the old value ${old}. The new value is shown only once:`)
  print(made.token)
}

async function revoke(token: string, flags: ServerFlags): Promise<void> {
  const server = await openServer(flags)
  const id = isId(token) ? token : await idOf(server, token)
  await server.ask(server.api.DELETE('/tokens/{id}', { params: { path: { id } } }))
  print(`Revoked ${token}.`)
}

async function idOf(server: Server, name: string): Promise<string> {
  const tokens = await allPages((query) => server.ask(server.api.GET('/tokens', { params: { query } })))
  const found = tokens.filter((one) => one.name === name && one.revoked_at === null)
  const [only] = found
  if (only !== undefined && found.length === 1) return only.id
  throw new VitrinaError(
    'TOKEN_NOT_FOUND',
    `${found.length === 0 ? 'No token is' : `${found.length} tokens are`} named "${name}".`,
    'Run "vitrina tokens list" to list the ids.',
  )
}

function expiry(given: string): string {
  const days = /^(\d{1,5})d$/.exec(given)?.[1]
  if (days !== undefined) return new Date(Date.now() + Number(days) * DAY_MS).toISOString()
  if (Number.isNaN(Date.parse(given)))
    throw new InvalidArgumentError('Give days such as 90d, or a time such as 2030-01-31T00:00:00Z.')
  return new Date(given).toISOString()
}
