import { z } from 'zod'
import { codeName } from '../../model/errors.js'
import {
  type DeadMessage,
  EVENT_NAMES,
  NOTIFICATION_EVENTS,
  type NotificationRule,
  type RuleSpec,
} from '../../model/notification.js'
import { tag } from '../../model/pipeline-fields.js'
import { isZone } from '../../model/schedule.js'
import { line } from '../../model/text.js'
import { CHANNEL_TYPES } from '../../ports/channels.js'
import type { KnownChannel, TestOutcome } from '../services/notifications.js'
import { pageSchema } from './page.js'
import { toWire } from './to-wire.js'

const HOUR = 3_600
const DAY = 86_400

const eventList = Object.entries(NOTIFICATION_EVENTS).map(([name, means]) => `${name}: ${means}`)
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:00')

const quietHours = z
  .strictObject({
    from: timeOfDay.describe('The first minute, HH:MM.').meta({ example: '22:00' }),
    to: timeOfDay
      .describe('The first minute after it, HH:MM; may be on the next day.')
      .meta({ example: '07:00' }),
    timezone: line(100)
      .refine(isZone, 'must be a time zone such as Europe/Moscow')
      .default('UTC')
      .describe('The time zone of both.')
      .meta({ example: 'Europe/Moscow' }),
  })
  .refine(({ from, to }) => from !== to, 'must not begin and end at the same time')

const seconds = (least: number, most: number) => z.int().min(least).max(most)

/** Without defaults: a field that is absent from a change keeps its value. */
const fields = {
  name: line(200).describe('The name of the rule.').meta({ example: 'failures to #etl' }),
  enabled: z.boolean().describe('Whether the rule sends notifications.'),
  events: z
    .array(z.enum(EVENT_NAMES))
    .min(1)
    .max(EVENT_NAMES.length)
    .describe(`The events that it sends. ${eventList.join(' ')}`)
    .meta({ example: ['failed', 'recovered'] }),
  pipelines: z
    .array(line(200))
    .max(1_000)
    .describe('Names of pipelines; * matches any characters. Without pipelines and tags: all pipelines.')
    .meta({ example: ['film_*'] }),
  tags: z
    .array(tag)
    .max(100)
    .describe('Pipelines with one of these tags, in addition to those in pipelines.')
    .meta({ example: ['reports'] }),
  channel: z.string().min(1).max(63).describe('The name of a configured channel.').meta({ example: 'ops' }),
  quiet_hours: quietHours
    .nullable()
    .describe('A time of day when nothing is sent; events of this time are sent afterwards. null: none.'),
  group_seconds: seconds(0, HOUR).describe('How long similar events are collected before the first message.'),
  repeat_seconds: seconds(0, DAY).describe(
    'How long further similar events are collected before the next message. Similar: the same event with the same error code.',
  ),
  max_per_hour: z
    .int()
    .min(1)
    .max(1_000)
    .describe('The maximum number of messages of the rule in one hour; further events wait.'),
  held_back_seconds: seconds(0, 30 * DAY).describe(
    'How old a transaction must be before the event held_back is sent.',
  ),
}

export const ruleInput = z
  .strictObject({
    ...fields,
    enabled: fields.enabled.default(true),
    pipelines: fields.pipelines.default([]),
    tags: fields.tags.default([]),
    quiet_hours: fields.quiet_hours.default(null),
    group_seconds: fields.group_seconds.default(10),
    repeat_seconds: fields.repeat_seconds.default(600),
    max_per_hour: fields.max_per_hour.default(20),
    held_back_seconds: fields.held_back_seconds.default(900),
  })
  .meta({ id: 'NotificationRuleInput' })

export const ruleChange = z.strictObject(fields).partial().meta({ id: 'NotificationRuleChange' })

const ruleWire = z
  .object({
    id: z.string().describe('The id of the rule.').meta({ format: 'uuid' }),
    ...fields,
    events: z.array(z.string()).describe('The events that it sends.'),
    created_at: z.string().describe('When it was created.'),
    updated_at: z.string().describe('When it was last changed.'),
  })
  .meta({ id: 'NotificationRule' })

export { ruleWire }
export const rulesWire = pageSchema(ruleWire)

const channelWire = z
  .object({
    name: z.string().describe('The name of the channel.'),
    type: z.enum(CHANNEL_TYPES).nullable().describe('null: not configured in this API.'),
    host: z.string().nullable().describe('The host that it sends to, without path and secrets.'),
    last_sent_at: z.string().nullable().describe('When the last notification was delivered.'),
    last_error: z.string().nullable().describe('Why the last failed attempt failed.'),
    last_error_at: z.string().nullable().describe('When the last failed attempt was made.'),
    pending: z.number().describe('Notifications that are not delivered yet.'),
    dead: z.number().describe('Notifications that were given up.'),
  })
  .meta({ id: 'NotificationChannel' })
export const channelsWire = z.object({ items: z.array(channelWire).describe('By name.') })

const deadWire = z
  .object({
    id: z.string().describe('The id of the notification.').meta({ format: 'uuid' }),
    rule: z.string().describe('The name of the rule.'),
    channel: z.string().describe('The channel.'),
    event: z.string().describe('The event.'),
    code: z.string().nullable().describe('The error code of the event.'),
    events: z.number().describe('The number of events in it.'),
    pipelines: z.array(z.string()).describe('The pipelines, the first 20.'),
    attempts: z.number().describe('Failed attempts.'),
    error: z.string().describe('Why the last attempt failed.'),
    created_at: z.string().describe('When it was composed.'),
    died_at: z.string().describe('When it was given up.'),
  })
  .meta({ id: 'DeadNotification' })
export const deadPage = pageSchema(deadWire)

export const testInput = z.strictObject({
  channel: z.string().min(1).max(63).describe('The name of a configured channel.').meta({ example: 'ops' }),
})
export const testWire = z
  .object({
    channel: z.string().describe('The channel.'),
    delivered: z.boolean().describe('Whether the receiver accepted the message.'),
    detail: z.string().describe('The response of the receiver, or why it did not respond.'),
    hint: z.string().nullable().describe('How to fix it.'),
  })
  .meta({ id: 'NotificationTest' })

export function ruleSpecOf(input: z.output<typeof ruleInput>): RuleSpec {
  return {
    name: input.name,
    enabled: input.enabled,
    events: [...new Set(input.events)],
    pipelines: [...new Set(input.pipelines)],
    tags: [...new Set(input.tags)],
    channel: input.channel,
    quietHours: input.quiet_hours,
    groupSeconds: input.group_seconds,
    repeatSeconds: input.repeat_seconds,
    maxPerHour: input.max_per_hour,
    heldBackSeconds: input.held_back_seconds,
  }
}

export function changedSpec(before: RuleSpec, change: z.output<typeof ruleChange>): RuleSpec {
  return ruleSpecOf({ ...fieldsToWire(before), ...change } as z.output<typeof ruleInput>)
}

function fieldsToWire(spec: RuleSpec) {
  return toWire(z.object(fields), spec)
}

export function ruleToWire(rule: NotificationRule) {
  return toWire(ruleWire, rule)
}

export function channelToWire(channel: KnownChannel) {
  return toWire(channelWire, channel)
}

export function deadToWire(dead: DeadMessage) {
  return toWire(deadWire, dead, { rule: dead.ruleName, code: dead.key === '' ? null : codeName(dead.key) })
}

export function testToWire(channel: string, outcome: TestOutcome): z.infer<typeof testWire> {
  return { channel, ...outcome }
}
