import { randomUUID } from 'node:crypto'
import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { isId } from '../../model/id.js'
import {
  type DeadMessage,
  type NotificationRule,
  OPENLINEAGE,
  type RuleSpec,
} from '../../model/notification.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type { Channels, ChannelType } from '../../ports/channels.js'
import type { NotificationStore } from '../../ports/notification-store.js'
import { redactText } from '../../telemetry/redact.js'
import { RateLimit } from '../auth/rate-limit.js'
import { notFound } from './not-found.js'

/** A channel that is configured, or that a message was sent to before. */
export interface KnownChannel {
  readonly name: string
  readonly type: ChannelType | null
  readonly host: string | null
  readonly lastSentAt: string | null
  readonly lastError: string | null
  readonly lastErrorAt: string | null
  readonly pending: number
  readonly dead: number
}

export interface TestOutcome {
  readonly delivered: boolean
  readonly detail: string
  readonly hint: string | null
}

/** Every event is compared with every rule, in the transaction that causes it. */
const MOST_RULES = 200
const TESTS_PER_MINUTE = 10
const NO_DELIVERY = { lastSentAt: null, lastError: null, lastErrorAt: null, pending: 0, dead: 0 }
const NO_ID = '00000000-0000-0000-0000-000000000000'
/** Events after which a rule can report a recovery. */
const RECOVERABLE: ReadonlySet<string> = new Set(['failed', 'brake', 'stale'])

export class NotificationService {
  readonly #store: NotificationStore
  readonly #channels: Channels

  /** A test is a real message: no operator must be able to fill a mailbox with them. */
  readonly #tests = new RateLimit(TESTS_PER_MINUTE, undefined, {
    what: 'test messages to this channel',
    setting: null,
  })

  constructor(store: NotificationStore, channels: Channels) {
    this.#store = store
    this.#channels = channels
  }

  listRules(): Promise<NotificationRule[]> {
    return this.#store.listRules()
  }

  async create(spec: RuleSpec, author: Author): Promise<NotificationRule> {
    this.#require(spec)
    const made = await this.#store.createRule(spec, MOST_RULES, author)
    if (made === 'full') throw tooManyRules()
    if (made === 'taken') throw taken(spec.name)
    return made
  }

  async change(
    id: string,
    change: (before: RuleSpec) => RuleSpec,
    author: Author,
  ): Promise<NotificationRule> {
    let name = ''
    const checked = (before: RuleSpec) => {
      const after = change(before)
      name = after.name
      this.#require(after)
      return after
    }
    const changed = isId(id) ? await this.#store.changeRule(id, checked, author) : null
    if (changed === null) throw notFound('NOTIFICATION_NOT_FOUND', id)
    if (changed === 'taken') throw taken(name)
    return changed
  }

  async delete(id: string, author: Author): Promise<void> {
    if (!isId(id) || !(await this.#store.deleteRule(id, author))) throw notFound('NOTIFICATION_NOT_FOUND', id)
  }

  async listChannels(): Promise<KnownChannel[]> {
    const states = new Map((await this.#store.channelStates()).map((state) => [state.channel, state]))
    const configured = this.#channels.list()
    const names = new Set(configured.map(({ name }) => name))
    // A channel that was removed from the settings may have messages that wait for it.
    const gone = [...states.values()]
      .filter(({ channel, pending, dead }) => !names.has(channel) && pending + dead > 0)
      .map(({ channel }) => ({ name: channel, type: null, host: null }))
    return [...configured, ...gone]
      .map((channel) => ({ ...NO_DELIVERY, ...states.get(channel.name), ...channel }))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  listDead(page: PageRequest): Promise<Page<DeadMessage>> {
    return this.#store.listDead(page)
  }

  async settleDead(id: string, as: 'retry' | 'discard', author: Author): Promise<void> {
    if (!isId(id) || !(await this.#store.settleDead(id, as, author))) throw notFound('MESSAGE_NOT_FOUND', id)
  }

  /** Sends a real message, not through the outbox: the caller waits for the response of the receiver. */
  async test(channel: string): Promise<TestOutcome> {
    this.#requireChannel(channel)
    this.#tests.take(channel)
    const at = new Date().toISOString()
    const event = {
      id: 0,
      at,
      event: 'test',
      key: '',
      data: {},
      pipelineId: NO_ID,
      pipelineName: 'test',
      runId: null,
    }
    try {
      const detail = await this.#channels.send({
        id: randomUUID(),
        ruleName: channel,
        channel,
        event: 'test',
        key: '',
        createdAt: at,
        events: [event],
      })
      return { delivered: true, detail: redactText(detail), hint: null }
    } catch (error) {
      if (!(error instanceof VitrinaError)) throw error
      return { delivered: false, detail: redactText(error.message), hint: error.hint }
    }
  }

  #require({ events, channel }: RuleSpec): void {
    this.#requireChannel(channel)
    if (events.includes('recovered') && !events.some((event) => RECOVERABLE.has(event)))
      throw new VitrinaError(
        'REQUEST_INVALID',
        'A rule with the event recovered needs the event failed, brake or stale: only what was sent can be reported as recovered.',
        'Add failed to events, or remove recovered.',
        { field: 'events' },
      )
  }

  #requireChannel(channel: string): void {
    if (channel === OPENLINEAGE) throw notForRules()
    const names = this.#channels
      .list()
      .map(({ name }) => name)
      .filter((name) => name !== OPENLINEAGE)
    if (names.includes(channel)) return
    const known =
      names.length === 0
        ? 'No channel is configured: set VITRINA_CHANNELS and restart the API.'
        : `Configured channels: ${names.join(', ')}. VITRINA_CHANNELS adds more.`
    throw new VitrinaError('CHANNEL_UNKNOWN', `The channel ${channel} is not configured.`, known, {
      field: 'channel',
    })
  }
}

function tooManyRules(): VitrinaError {
  return new VitrinaError(
    'REQUEST_INVALID',
    `There are ${MOST_RULES} notification rules, which is the maximum.`,
    'Delete a rule, or select more pipelines with one: by tags, or by names with *.',
    { field: 'name' },
  )
}

function notForRules(): VitrinaError {
  return new VitrinaError(
    'CHANNEL_UNKNOWN',
    `The channel ${OPENLINEAGE} receives every run and nothing else.`,
    'Choose another channel.',
    { field: 'channel' },
  )
}

function taken(name: string): VitrinaError {
  return new VitrinaError(
    'NOTIFICATION_NAME_TAKEN',
    `Another notification rule is named "${name}".`,
    'Choose another name, or change that rule.',
    { field: 'name' },
  )
}
