import type { NotificationRule } from '../model/notification.js'
import type {
  MessagePlan,
  PlannedMessage,
  RecentMessage,
  WaitingEvent,
  WaitingEvents,
} from '../ports/outbox.js'
import { isQuiet } from './quiet-hours.js'

const HOUR_MS = 3_600_000

/**
 * Decides which waiting events become messages now. Events of a rule that are alike (same event, same error code) share
 * a message. The first message waits group_seconds for more of them, the next one repeat_seconds: an outage is one
 * message at once and a summary later. Quiet hours and max_per_hour delay messages further; events wait and are not lost.
 */
export function planMessages({ now, rules, events, recent }: WaitingEvents): MessagePlan {
  const known = new Map(rules.filter(({ enabled }) => enabled).map((rule) => [rule.id, rule]))
  const kept = events.filter((event) => known.has(event.ruleId) && !isUnneeded(event))
  const messages = [...known.values()].flatMap((rule) => {
    const own = kept.filter(({ ruleId }) => ruleId === rule.id)
    return isQuiet(rule.quietHours, now) ? [] : messagesOf(rule, own, { now, recent })
  })
  const needed = new Set(kept)
  return { messages, dropped: events.filter((event) => !needed.has(event)) }
}

/** The recovery from a failure that was never sent. */
function isUnneeded({ event, ends }: WaitingEvent): boolean {
  return event === 'recovered' && (ends === null || ends.status === 'DEAD' || ends.status === 'DISCARDED')
}

interface PlanMoment {
  readonly now: Date
  readonly recent: readonly RecentMessage[]
}

function messagesOf(rule: NotificationRule, events: readonly WaitingEvent[], moment: PlanMoment) {
  const left = rule.maxPerHour - sentLastHour(rule, moment)
  return groupsOf(events)
    .filter((group) => isDue(rule, group, moment))
    .slice(0, Math.max(0, left))
    .map(
      (group): PlannedMessage => ({
        rule,
        event: group[0]!.event,
        key: group[0]!.key,
        events: [...group, ...endingsOf(group, events)],
      }),
    )
}

function sentLastHour(rule: NotificationRule, { now, recent }: PlanMoment): number {
  const since = now.getTime() - HOUR_MS
  return recent.filter(({ ruleId, createdAt }) => ruleId === rule.id && Date.parse(createdAt) > since).length
}

/** Those that are alike, in the order of their first event. */
function groupsOf(events: readonly WaitingEvent[]): WaitingEvent[][] {
  const groups = new Map<string, WaitingEvent[]>()
  for (const event of events.filter(isReady)) {
    const alike = `${event.event}\n${event.key}`
    groups.set(alike, [...(groups.get(alike) ?? []), event])
  }
  return [...groups.values()]
}

/** A recovery is reported after its failure: it waits until the failure was sent. */
function isReady({ event, ends }: WaitingEvent): boolean {
  return event !== 'recovered' || ends?.status === 'SENT'
}

/** A pipeline that recovered before its failure was sent is reported once, as both. */
function endingsOf(group: readonly WaitingEvent[], events: readonly WaitingEvent[]): WaitingEvent[] {
  const ids = new Set(group.map(({ id }) => id))
  return events.filter(({ ends }) => ends?.status === 'WAITING' && ids.has(ends.id))
}

function isDue(rule: NotificationRule, group: readonly WaitingEvent[], { now, recent }: PlanMoment): boolean {
  const [first] = group
  const like = recent
    .filter(({ ruleId, event, key }) => ruleId === rule.id && event === first!.event && key === first!.key)
    .map(({ createdAt }) => Date.parse(createdAt))
  const earliest = Math.max(
    Date.parse(first!.at) + rule.groupSeconds * 1000,
    ...like.map((at) => at + rule.repeatSeconds * 1000),
  )
  return now.getTime() >= earliest
}
