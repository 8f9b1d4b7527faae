/**
 * Events that a rule can name. To add one: a line here, a sentence in src/notify/message-text.ts, and a trigger that
 * calls etl.notify() in the transaction of the event.
 */
export const NOTIFICATION_EVENTS = {
  failed: 'A run failed.',
  recovered:
    'A run succeeded after a failure that this rule reported, or the run of a live pipeline has caught up; or data that it reported as stale is fresh again.',
  brake: 'A run was stopped by the delete brake. Without this event, a rule for "failed" reports it.',
  check_failed: 'A data check failed, regardless of its on_failure, or could not be evaluated.',
  quarantine_grew: 'A run added rows to the quarantine.',
  drift_found: 'A row-by-row comparison found rows that differ.',
  audit_failed: 'An audit found rows of a mart that differ from its query.',
  stale: 'The data of a mart is older than its freshness allows.',
  held_back: 'An open transaction has held the checkpoint back for longer than held_back_seconds.',
} as const

/** The channel of run events for OpenLineage. Triggers write its messages; rules cannot name it. */
export const OPENLINEAGE = 'openlineage'

export type NotificationEvent = keyof typeof NOTIFICATION_EVENTS
export const EVENT_NAMES = Object.keys(NOTIFICATION_EVENTS) as [NotificationEvent, ...NotificationEvent[]]

/** Nothing is sent from `from` to `to` (HH:MM) in this time zone; events of this time are sent afterwards. */
export interface QuietHours {
  readonly from: string
  readonly to: string
  readonly timezone: string
}

export interface RuleSpec {
  readonly name: string
  readonly enabled: boolean
  readonly events: readonly NotificationEvent[]
  /** Names; `*` matches any characters. Without names and tags: all. */
  readonly pipelines: readonly string[]
  /** Pipelines with one of these tags, in addition to those that are named. */
  readonly tags: readonly string[]
  readonly channel: string
  readonly quietHours: QuietHours | null
  /** How long events are collected before the first message. */
  readonly groupSeconds: number
  /** How long events like those of a message are collected before the next message. */
  readonly repeatSeconds: number
  readonly maxPerHour: number
  readonly heldBackSeconds: number
}

export interface NotificationRule extends RuleSpec {
  readonly id: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** An event in the outbox, for one rule. */
export interface OutboxEvent {
  readonly id: number
  readonly at: string
  /** Not narrowed to known events: an older API may read those of a newer one. */
  readonly event: string
  /** Events with the same key are alike: the error code of a failure. */
  readonly key: string
  readonly pipelineId: string
  readonly pipelineName: string
  readonly runId: string | null
  readonly data: Readonly<Record<string, unknown>>
  /** One of very many in a message: its data was not read. It is counted, but not reported in detail. */
  readonly brief?: boolean
}

/** Why a message was composed: one or more events of a rule. */
export interface NotificationMessage {
  /** The same at every attempt, so that receivers can recognize a repetition. */
  readonly id: string
  readonly ruleName: string
  readonly channel: string
  readonly event: string
  readonly key: string
  readonly createdAt: string
  /** Oldest first. */
  readonly events: readonly OutboxEvent[]
}

export type MessageStatus = 'PENDING' | 'SENT' | 'DEAD' | 'DISCARDED'

/** A message that was given up. */
export interface DeadMessage {
  readonly id: string
  readonly ruleName: string
  readonly channel: string
  readonly event: string
  readonly key: string
  readonly events: number
  readonly pipelines: readonly string[]
  readonly attempts: number
  readonly error: string
  readonly createdAt: string
  readonly diedAt: string
}

/** The state of the messages of a channel. */
export interface ChannelState {
  readonly channel: string
  readonly lastSentAt: string | null
  readonly lastError: string | null
  readonly lastErrorAt: string | null
  readonly pending: number
  readonly dead: number
}
