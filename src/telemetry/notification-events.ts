import { aboutError } from './facts.js'
import type { Logger } from './log.js'
import type { Meter } from './meter.js'

interface AttemptedMessage {
  readonly id: string
  readonly ruleName: string
  readonly channel: string
  readonly event: string
  readonly attempt: number
  readonly events: readonly unknown[]
}

type DeliveryOutcome =
  | { readonly status: 'SENT' }
  | { readonly status: 'RETRY' | 'DEAD'; readonly error: string }

/** Events of the delivery of notifications, one method per event. */
export class NotificationEvents {
  readonly #log: Logger
  readonly #meter: Meter

  constructor(log: Logger, meter: Meter) {
    this.#log = log
    this.#meter = meter
  }

  attempted(message: AttemptedMessage, outcome: DeliveryOutcome): void {
    const { id, ruleName, channel, event, attempt, events } = message
    this.#meter.notified(channel, OUTCOMES[outcome.status])
    const facts = { message_id: id, rule: ruleName, channel, event, attempt, events: events.length }
    if (outcome.status === 'SENT') this.#log.info('Notification sent.', facts)
    else if (outcome.status === 'RETRY')
      this.#log.warn('Notification not delivered, retrying.', { ...facts, reason: outcome.error })
    else this.#log.error('Notification given up.', { ...facts, reason: outcome.error })
  }

  /** The next round retries. */
  outboxLost(error: Error): void {
    this.#log.error('The notification outbox could not be processed.', aboutError(error))
  }
}

const OUTCOMES = { SENT: 'sent', RETRY: 'failed', DEAD: 'dead' } as const
