import type {
  MessageStatus,
  NotificationMessage,
  NotificationRule,
  OutboxEvent,
} from '../model/notification.js'

/** An event that belongs to no message yet, without its data. */
export interface WaitingEvent extends OutboxEvent {
  readonly ruleId: string
  /** For "recovered": the failure, or the breach of freshness, that it ends. */
  readonly ends: { readonly id: number; readonly status: MessageStatus | 'WAITING' } | null
}

/** A message of the last hours: it decides when the next one like it may follow. */
export interface RecentMessage {
  readonly ruleId: string
  readonly event: string
  readonly key: string
  readonly createdAt: string
}

export interface WaitingEvents {
  /** By the clock of the database. */
  readonly now: Date
  readonly rules: readonly NotificationRule[]
  /** Oldest first. */
  readonly events: readonly WaitingEvent[]
  readonly recent: readonly RecentMessage[]
}

export interface PlannedMessage {
  readonly rule: NotificationRule
  readonly event: string
  readonly key: string
  readonly events: readonly WaitingEvent[]
}

export interface MessagePlan {
  readonly messages: readonly PlannedMessage[]
  /** Events that are not sent: their rule is disabled, or the failure that they end was not sent. */
  readonly dropped: readonly WaitingEvent[]
}

export interface ClaimedMessage extends NotificationMessage {
  /** 1 for the first one. */
  readonly attempt: number
}

export type Delivery =
  | { readonly status: 'SENT' }
  | { readonly status: 'RETRY'; readonly error: string; readonly waitSeconds: number }
  | { readonly status: 'DEAD'; readonly error: string }

/** What the dispatcher needs of the meta store. Any number of APIs may call it at the same time. */
export interface Outbox {
  /** Composes messages from waiting events, in one transaction. Returns how many. */
  group(plan: (waiting: WaitingEvents) => MessagePlan): Promise<number>
  /** Messages that are due, leased to this process: if it dies, another one gets them after the lease. */
  claim(most: number, leaseSeconds: number): Promise<ClaimedMessage[]>
  /** False: the lease has expired and another process has claimed the message since. */
  settle(message: ClaimedMessage, delivery: Delivery): Promise<boolean>
}
