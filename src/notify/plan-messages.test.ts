import { describe, expect, it } from 'vitest'
import type { NotificationRule } from '../model/notification.js'
import type { RecentMessage, WaitingEvent } from '../ports/outbox.js'
import { planMessages } from './plan-messages.js'

const NOON = new Date('2026-11-16T12:00:00Z')
const ago = (seconds: number) => new Date(NOON.getTime() - seconds * 1000).toISOString()

const RULE: NotificationRule = {
  id: 'r1',
  name: 'failures',
  enabled: true,
  events: ['failed', 'recovered'],
  pipelines: [],
  tags: [],
  channel: 'ops',
  quietHours: null,
  groupSeconds: 10,
  repeatSeconds: 600,
  maxPerHour: 20,
  heldBackSeconds: 900,
  createdAt: ago(9_999),
  updatedAt: ago(9_999),
}

let ids = 0
function anEvent(changes: Partial<WaitingEvent> = {}): WaitingEvent {
  ids += 1
  return {
    ...{ id: ids, at: ago(60), event: 'failed', key: 'DATABASE_UNAVAILABLE', ruleId: 'r1' },
    ...{ pipelineId: `p${ids}`, pipelineName: `mart_${ids}`, runId: null, data: {}, ends: null },
    ...changes,
  }
}

const aMessage = (changes: Partial<RecentMessage> = {}): RecentMessage => ({
  ...{ ruleId: 'r1', event: 'failed', key: 'DATABASE_UNAVAILABLE', createdAt: ago(60) },
  ...changes,
})

interface Case {
  readonly events: readonly WaitingEvent[]
  readonly rule?: Partial<NotificationRule>
  readonly recent?: readonly RecentMessage[]
  readonly now?: Date
}

/** The ids of each message, and those that are dropped. */
function planned({ events, rule = {}, recent = [], now = NOON }: Case) {
  const { messages, dropped } = planMessages({ now, rules: [{ ...RULE, ...rule }], events, recent })
  return {
    messages: messages.map((message) => message.events.map(({ id }) => id)),
    dropped: dropped.map(({ id }) => id),
  }
}

describe('grouping', () => {
  it('puts failures with the same code into one message, and others into their own', () => {
    const outage = Array.from({ length: 100 }, () => anEvent())
    const other = anEvent({ key: 'SOURCE_QUERY_FAILED' })
    expect(planned({ events: [...outage, other] }).messages).toEqual([outage.map(({ id }) => id), [other.id]])
  })

  it('waits group_seconds after the first event', () => {
    const events = [anEvent({ at: ago(9) }), anEvent({ at: ago(1) })]
    expect(planned({ events }).messages).toEqual([])
    expect(planned({ events: [anEvent({ at: ago(10) }), ...events] }).messages).toHaveLength(1)
  })

  it('collects further events for repeat_seconds after a message', () => {
    const events = [anEvent()]
    expect(planned({ events, recent: [aMessage({ createdAt: ago(599) })] }).messages).toEqual([])
    expect(planned({ events, recent: [aMessage({ createdAt: ago(600) })] }).messages).toHaveLength(1)
    expect(planned({ events, recent: [aMessage({ key: 'BRAKE' })] }).messages).toHaveLength(1)
  })

  it('sends no more than max_per_hour messages of a rule', () => {
    const events = ['A', 'B', 'C'].map((key) => anEvent({ key }))
    const recent = [
      aMessage({ key: 'X' }),
      aMessage({ key: 'Y' }),
      aMessage({ key: 'Z', createdAt: ago(3_601) }),
    ]
    expect(planned({ events, recent, rule: { maxPerHour: 3 } }).messages).toEqual([[events[0]!.id]])
    expect(planned({ events, recent, rule: { maxPerHour: 2 } })).toEqual({ messages: [], dropped: [] })
  })

  it('drops events of a rule that is disabled or deleted', () => {
    const events = [anEvent(), anEvent({ ruleId: 'gone' })]
    expect(planned({ events, rule: { enabled: false } })).toEqual({
      messages: [],
      dropped: events.map(({ id }) => id),
    })
  })
})

describe('a recovery', () => {
  const recovered = (id: number, status: NonNullable<WaitingEvent['ends']>['status']) =>
    anEvent({ event: 'recovered', key: '', ends: { id, status } })

  it('is sent after its failure was sent', () => {
    const event = recovered(1, 'SENT')
    expect(planned({ events: [event] }).messages).toEqual([[event.id]])
  })

  it('waits while its failure is being delivered', () => {
    expect(planned({ events: [recovered(1, 'PENDING')] })).toEqual({ messages: [], dropped: [] })
  })

  it.each(['DEAD', 'DISCARDED'] as const)('is dropped if its failure is %s', (status) => {
    const event = recovered(1, status)
    expect(planned({ events: [event] })).toEqual({ messages: [], dropped: [event.id] })
  })

  it('is part of the message about its failure if that was not sent yet', () => {
    const failure = anEvent()
    const event = recovered(failure.id, 'WAITING')
    expect(planned({ events: [failure, event] }).messages).toEqual([[failure.id, event.id]])
  })
})

describe('quiet hours', () => {
  const night = { quietHours: { from: '22:00', to: '07:00', timezone: 'Europe/Moscow' } }
  const at = (time: string) =>
    planned({ events: [anEvent({ at: '2026-11-15T12:00:00Z' })], rule: night, now: new Date(time) }).messages
      .length

  it('delay messages until they end, in their time zone', () => {
    // Moscow is three hours ahead of UTC.
    expect(at('2026-11-16T18:59:00Z')).toBe(1)
    expect(at('2026-11-16T19:00:00Z')).toBe(0)
    expect(at('2026-11-16T23:59:00Z')).toBe(0)
    expect(at('2026-11-17T03:59:59Z')).toBe(0)
    expect(at('2026-11-17T04:00:00Z')).toBe(1)
  })

  it('follow daylight saving time', () => {
    const berlin = { quietHours: { from: '08:00', to: '09:00', timezone: 'Europe/Berlin' } }
    const quiet = (time: string) =>
      planned({ events: [anEvent({ at: '2026-01-01T00:00:00Z' })], rule: berlin, now: new Date(time) })
        .messages.length === 0
    expect(quiet('2026-07-01T06:30:00Z')).toBe(true)
    expect(quiet('2026-12-01T06:30:00Z')).toBe(false)
    expect(quiet('2026-12-01T07:30:00Z')).toBe(true)
  })
})
