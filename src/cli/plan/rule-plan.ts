import type { JsonSchema } from '../../config/json-schema.js'
import type { FilePipeline } from '../../config/pipeline-file.js'
import { isSame } from '../../config/pipeline-yaml.js'
import type { FileMistake } from '../../config/source-text.js'
import type { Server } from '../server/server.js'
import type { Fields, NotificationRule } from '../server/wire.js'
import type { PlannedChange } from './planned-changes.js'

export interface RuleUpdate {
  readonly file: FilePipeline
  readonly current: NotificationRule
  readonly changes: readonly PlannedChange[]
}

/** The differences between the notification rules in the files and on the server. */
export interface RulePlan {
  readonly creates: readonly FilePipeline[]
  readonly updates: readonly RuleUpdate[]
  readonly unchanged: readonly FilePipeline[]
  /** On the server, but in none of the files. */
  readonly extra: readonly NotificationRule[]
}

export async function makeRulePlan(
  server: Server,
  files: readonly FilePipeline[],
  schema: JsonSchema,
): Promise<RulePlan> {
  const { items } = await server.ask(server.api.GET('/notifications', {}))
  const current = new Map(items.map((rule) => [rule.name, rule]))
  const creates: FilePipeline[] = []
  const unchanged: FilePipeline[] = []
  const updates: RuleUpdate[] = []
  for (const file of files) {
    const found = current.get(file.name)
    const changes = found === undefined ? [] : changesOf(file.fields, found, schema)
    if (found === undefined) creates.push(file)
    else if (changes.length === 0) unchanged.push(file)
    else updates.push({ file, current: found, changes })
    current.delete(file.name)
  }
  return { creates, updates, unchanged, extra: [...current.values()] }
}

/** As for pipelines: a field that the file leaves out gets its default, except `enabled`. */
function changesOf(wanted: Readonly<Fields>, current: NotificationRule, schema: JsonSchema): PlannedChange[] {
  const before = normalised(current, schema)
  const after = normalised(wanted, schema)
  return Object.keys(after)
    .filter((field) => field !== 'enabled' || Object.hasOwn(wanted, field))
    .filter((field) => !isSame(inAnyOrder(before[field]), inAnyOrder(after[field])))
    .map((field) => ({ field, old: before[field], new: after[field] }))
}

function normalised(fields: Readonly<Fields>, { properties = {} }: JsonSchema): Fields {
  const whole: Fields = Object.fromEntries(
    Object.entries(properties).map(([name, { default: standard }]) => [name, fields[name] ?? standard]),
  )
  const quiet = (whole.quiet_hours ?? null) as { from: string; to: string; timezone?: string } | null
  const hours = quiet && { from: quiet.from, to: quiet.to, timezone: quiet.timezone ?? 'UTC' }
  return { ...whole, quiet_hours: hours }
}

/** Events, names and tags are sets. */
function inAnyOrder(value: unknown): unknown {
  return Array.isArray(value) ? [...new Set(value)].sort() : value
}

/** What the server would refuse, found before anything is changed. */
export async function checkRules(server: Server, plan: RulePlan): Promise<FileMistake[]> {
  const files = [...plan.creates, ...plan.updates.map(({ file }) => file)]
  if (files.length === 0) return []
  const { items } = await server.ask(server.api.GET('/notifications/channels', {}))
  const channels = items.filter(({ type }) => type !== null && type !== 'openlineage').map(({ name }) => name)
  return files.flatMap((file) => ruleMistakes(file, channels))
}

function ruleMistakes({ fields, locate }: FilePipeline, channels: readonly string[]): FileMistake[] {
  const mistakes: FileMistake[] = []
  const { channel, events } = fields as { channel: string; events: readonly string[] }
  if (!channels.includes(channel))
    mistakes.push({
      place: locate('channel'),
      message: `channel: "${channel}" is not configured on the server; configured: ${channels.join(', ') || 'none'}`,
    })
  if (events.includes('recovered') && !events.includes('failed') && !events.includes('brake'))
    mistakes.push({ place: locate('events'), message: 'events: recovered needs failed or brake' })
  return mistakes
}
