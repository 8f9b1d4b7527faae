import { type Command, InvalidArgumentError } from 'commander'
import { VitrinaError } from '../model/errors.js'
import { isId } from '../model/id.js'
import { EVENT_NAMES, type NotificationEvent } from '../model/notification.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './output/format.js'
import { print } from './output/print.js'
import { momentText } from './output/print-table.js'
import { inlineText } from './output/terminal-text.js'
import { collect, group, serverCommand, timeSpan, wholeNumber } from './program/command.js'
import { listCommand } from './program/list-command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer, type Server } from './server/server.js'

type Flags = ServerFlags & FormatFlags

interface CreateFlags extends Flags {
  readonly name: string
  readonly event: NotificationEvent[]
  readonly channel: string
  readonly pipeline?: string[]
  readonly tag?: string[]
  readonly quiet?: { readonly from: string; readonly to: string }
  readonly timezone?: string
  readonly groupFor?: number
  readonly repeatAfter?: number
  readonly maxPerHour?: number
}

export function addNotifications(program: Command): void {
  const notifications = group(
    program,
    'notifications',
    'Manage notification rules, test channels, and settle undelivered notifications.',
  )
  addRules(notifications)
  addDelivery(notifications)
}

function addRules(notifications: Command): void {
  listCommand(notifications, {
    usage: 'list',
    description: 'List the notification rules.',
    examples: ['notifications list'],
    route: '/notifications',
    columns: {
      name: ({ name }) => name,
      enabled: ({ enabled }) => (enabled ? 'yes' : 'no'),
      events: ({ events }) => events.join(', '),
      pipelines: ({ pipelines, tags }) =>
        [...pipelines, ...tags.map((tag) => `tag ${tag}`)].join(', ') || 'all',
      channel: ({ channel }) => channel,
      'quiet hours': ({ quiet_hours: quiet }) =>
        quiet === null ? '' : `${quiet.from}-${quiet.to} ${quiet.timezone}`,
      id: ({ id }) => id,
    },
    none: 'No notification rules.',
  })
  serverCommand(notifications, {
    usage: 'create',
    description: 'Create a notification rule.',
    examples: [
      'notifications create --name failures --event failed,recovered --channel ops',
      "notifications create --name films --event failed --channel ops --pipeline 'film_*' --quiet 22:00-07:00 --timezone Europe/Moscow",
    ],
  })
    .requiredOption('--name <name>', 'name of the rule')
    .requiredOption(
      '--event <event>',
      `${EVENT_NAMES.join(', ')}; repeat the option or separate with commas`,
      events,
    )
    .requiredOption('--channel <channel>', 'a configured channel')
    .option('--pipeline <name>', 'only this pipeline; * matches any characters; may be repeated', collect)
    .option('--tag <tag>', 'pipelines with this tag too; may be repeated', collect)
    .option('--quiet <from-to>', 'send nothing in this time of day, such as 22:00-07:00', quietHours)
    .option('--timezone <zone>', 'time zone of --quiet (default: UTC)')
    .option('--group-for <time>', 'how long similar events are collected first (default: 10s)', timeSpan)
    .option('--repeat-after <time>', 'time between messages about similar events (default: 10m)', timeSpan)
    .option('--max-per-hour <n>', 'maximum number of messages in one hour (default: 20)', wholeNumber)
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(create)
  for (const [usage, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    serverCommand(notifications, {
      usage: `${usage} <rule>`,
      description: `${enabled ? 'Enable' : 'Disable'} a rule, given by id or name.`,
      examples: [`notifications ${usage} failures`],
    }).action((rule: string, flags: ServerFlags) => setEnabled(rule, enabled, flags))
  serverCommand(notifications, {
    usage: 'delete <rule>',
    description: 'Delete a rule, given by id or name.',
    examples: ['notifications delete failures'],
  }).action(remove)
}

function addDelivery(notifications: Command): void {
  listCommand(notifications, {
    usage: 'channels',
    description: 'List the channels with the state of their deliveries.',
    examples: ['notifications channels'],
    route: '/notifications/channels',
    columns: {
      channel: ({ name }) => name,
      type: ({ type }) => type ?? 'not configured',
      host: ({ host }) => host ?? '',
      'last delivery': ({ last_sent_at }) => momentText(last_sent_at),
      pending: ({ pending }) => pending,
      dead: ({ dead }) => dead,
      // A channel that has delivered since is not failing any more.
      'last error': ({ last_error: error, last_error_at: failed, last_sent_at: sent }) =>
        error === null || failed === null || (sent !== null && sent >= failed)
          ? ''
          : `${momentText(failed)}: ${error}`,
    },
    none: 'No channels. Set VITRINA_CHANNELS for the API.',
  })
  serverCommand(notifications, {
    usage: 'test <channel>',
    description: 'Send a test message, and show the response of the receiver.',
    examples: ['notifications test ops'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(test)
  listCommand(notifications, {
    usage: 'dead',
    description: 'List notifications that were given up, newest first.',
    examples: ['notifications dead'],
    route: '/notifications/dead',
    pages: { of: 'notifications' },
    columns: {
      id: ({ id }) => id,
      rule: ({ rule }) => rule,
      channel: ({ channel }) => channel,
      event: ({ event, code }) => (code === null ? event : `${event} (${code})`),
      pipelines: ({ pipelines }) => pipelines.join(', '),
      attempts: ({ attempts }) => attempts,
      'given up': ({ died_at }) => momentText(died_at),
      error: ({ error }) => error,
    },
    none: 'No undelivered notifications.',
  })
  for (const [as, description, done] of [
    ['retry', 'Deliver a notification again that was given up.', 'will be delivered again'],
    ['discard', 'Remove a notification that was given up from the list.', 'is discarded'],
  ] as const)
    serverCommand(notifications, {
      usage: `${as} <id>`,
      description,
      examples: [`notifications ${as} 0b7c2b0e-6d8f-4a55-9a38-0d9ef0a3b1f2`],
    }).action(async (id: string, flags: ServerFlags) => {
      const server = await openServer(flags)
      const params = { params: { path: { id } } }
      await server.ask(
        as === 'retry'
          ? server.api.POST('/notifications/dead/{id}/retry', params)
          : server.api.POST('/notifications/dead/{id}/discard', params),
      )
      print(`Notification ${id} ${done}.`)
    })
}

async function create(flags: CreateFlags): Promise<void> {
  const server = await openServer(flags)
  const { quiet, timezone = 'UTC' } = flags
  const body = {
    name: flags.name,
    events: flags.event,
    channel: flags.channel,
    ...(flags.pipeline && { pipelines: flags.pipeline }),
    ...(flags.tag && { tags: flags.tag }),
    ...(quiet && { quiet_hours: { ...quiet, timezone } }),
    ...(flags.groupFor !== undefined && { group_seconds: flags.groupFor }),
    ...(flags.repeatAfter !== undefined && { repeat_seconds: flags.repeatAfter }),
    ...(flags.maxPerHour !== undefined && { max_per_hour: flags.maxPerHour }),
  }
  const made = await server.ask(server.api.POST('/notifications', { body }))
  if (isData(flags)) printData(made, flags)
  else print(`Created rule ${made.name}: ${made.events.join(', ')} to ${made.channel}.`)
}

async function setEnabled(rule: string, enabled: boolean, flags: ServerFlags): Promise<void> {
  const server = await openServer(flags)
  const params = { path: { id: await idOf(server, rule) } }
  const { name } = await server.ask(server.api.PATCH('/notifications/{id}', { params, body: { enabled } }))
  print(`Rule ${name} is ${enabled ? 'enabled' : 'disabled'}.`)
}

async function remove(rule: string, flags: ServerFlags): Promise<void> {
  const server = await openServer(flags)
  const id = await idOf(server, rule)
  await server.ask(server.api.DELETE('/notifications/{id}', { params: { path: { id } } }))
  print(`Deleted rule ${inlineText(rule)}.`)
}

async function test(channel: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const outcome = await server.ask(server.api.POST('/notifications/test', { body: { channel } }))
  if (isData(flags)) printData(outcome, flags)
  else if (outcome.delivered) print(`Delivered: ${inlineText(outcome.detail)}`)
  if (!outcome.delivered) throw new VitrinaError('CHANNEL_FAILED', outcome.detail, outcome.hint ?? '')
}

async function idOf(server: Server, rule: string): Promise<string> {
  if (isId(rule)) return rule
  const { items } = await server.ask(server.api.GET('/notifications', {}))
  const found = items.find(({ name }) => name === rule)
  if (found !== undefined) return found.id
  throw new VitrinaError(
    'NOTIFICATION_NOT_FOUND',
    `No notification rule is named "${rule}".`,
    'Run "vitrina notifications list" to list the rules.',
  )
}

function events(given: string, before: string[] | undefined): string[] {
  const names = collect(given, before)
  const unknown = names.find((name) => !(EVENT_NAMES as readonly string[]).includes(name))
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not an event. Events: ${EVENT_NAMES.join(', ')}.`)
  return names
}

function quietHours(given: string): { from: string; to: string } {
  const [, from = '', to = ''] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(given) ?? []
  if (to === '') throw new InvalidArgumentError('Enter two times of day such as 22:00-07:00.')
  return { from, to }
}
