import { VitrinaError } from '../model/errors.js'
import type { Channels } from '../ports/channels.js'
import type { ClaimedMessage, Delivery, Outbox } from '../ports/outbox.js'
import type { NotificationEvents } from '../telemetry/notification-events.js'
import { RetryLater } from './http-channel.js'
import { planMessages } from './plan-messages.js'

/** Longer than any attempt may take: a message is repeated only if its process died. */
const LEASE_SECONDS = 60
/** Messages that one process sends at the same time. */
const MOST_AT_ONCE = 8
const MOST_WAIT_SECONDS = 3_600

export interface NotificationDispatcherOptions {
  readonly outbox: Outbox
  readonly channels: Channels
  readonly events: NotificationEvents
  /** After this many failed attempts, a message is given up. */
  readonly mostAttempts: number
  /** The wait after the first failed attempt; it doubles with each further one. */
  readonly retrySeconds: number
  readonly pollMs: number
}

/**
 * Delivers the outbox at least once: a message is settled only after its receiver accepted it, and a process that dies in
 * between leaves a lease that expires. Several APIs share the work; each message is leased to one of them.
 */
export class NotificationDispatcher {
  readonly #options: NotificationDispatcherOptions
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | null = null
  #round: Promise<void> | null = null

  constructor(options: NotificationDispatcherOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), this.#options.pollMs)
    this.#timer.unref()
    this.#tick()
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#stopping.abort()
    await this.#round
  }

  #tick(): void {
    if (this.#round !== null || this.#stopping.signal.aborted) return
    this.#round = this.deliver()
      .catch((error) => this.#options.events.outboxLost(error))
      .finally(() => {
        this.#round = null
      })
  }

  /** One round: groups what is waiting, and sends what is due. */
  async deliver(): Promise<void> {
    const { outbox } = this.#options
    await outbox.group(planMessages)
    while (!this.#stopping.signal.aborted) {
      const messages = await outbox.claim(MOST_AT_ONCE, LEASE_SECONDS)
      if (messages.length === 0) return
      await Promise.all(messages.map((message) => this.#deliver(message)))
    }
  }

  async #deliver(message: ClaimedMessage): Promise<void> {
    const { outbox, events } = this.#options
    const delivery = await this.#attempt(message)
    if (await outbox.settle(message, delivery)) events.attempted(message, delivery)
  }

  async #attempt(message: ClaimedMessage): Promise<Delivery> {
    try {
      await this.#options.channels.send(message)
      return { status: 'SENT' }
    } catch (raised) {
      const error = inWords(raised)
      if (message.attempt >= this.#options.mostAttempts) return { status: 'DEAD', error }
      const asked = raised instanceof RetryLater ? raised.seconds : 0
      return { status: 'RETRY', error, waitSeconds: Math.max(asked, this.#wait(message.attempt)) }
    }
  }

  #wait(attempt: number): number {
    // Up to a quarter more, so that messages which failed together do not return together.
    const wait = this.#options.retrySeconds * 2 ** Math.min(attempt - 1, 20) * (1 + Math.random() / 4)
    return Math.min(wait, MOST_WAIT_SECONDS)
  }
}

function inWords(raised: unknown): string {
  // The response of a receiver may end anywhere.
  if (raised instanceof VitrinaError)
    return `${raised.message}${/[.!?…]$/.test(raised.message) ? '' : '.'} ${raised.hint}`
  return raised instanceof Error ? raised.message : String(raised)
}
