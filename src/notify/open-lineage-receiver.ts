import { VitrinaError } from '../model/errors.js'
import { OPENLINEAGE, type OutboxEvent } from '../model/notification.js'
import type { ChannelInfo, Channels } from '../ports/channels.js'
import type { OpenLineageEvent } from '../ports/lineage.js'
import type { AllowedHosts } from './allowed-host.js'
import { accepted } from './http-channel.js'
import { post } from './post.js'

const ENDPOINT = '/api/v1/lineage'

export interface ReceiverOptions {
  /** The address of the receiver; without a path, its usual endpoint. */
  readonly url: string
  readonly apiKey: string | undefined
  readonly allowed: AllowedHosts
  /** The event of a run, as the specification requires it. */
  readonly describe: (event: OutboxEvent) => Promise<OpenLineageEvent>
}

/** The channels of this deployment, and the receiver of run events. Rules cannot name it: every run is reported. */
export class ChannelsWithOpenLineage implements Channels {
  readonly #channels: Channels
  readonly #receiver: ReceiverOptions | null
  readonly #url: URL | null

  constructor(channels: Channels, receiver: ReceiverOptions | null) {
    this.#channels = channels
    this.#receiver = receiver
    this.#url = receiver === null ? null : endpointOf(receiver.url)
  }

  list(): readonly ChannelInfo[] {
    if (this.#url === null) return this.#channels.list()
    return [...this.#channels.list(), { name: OPENLINEAGE, type: 'openlineage', host: this.#url.host }]
  }

  async send(message: Parameters<Channels['send']>[0], signal?: AbortSignal): Promise<string> {
    if (message.channel !== OPENLINEAGE) return this.#channels.send(message, signal)
    const [receiver, url, event] = [this.#receiver, this.#url, message.events[0]]
    if (receiver === null || url === null || event === undefined) throw notConfigured()
    const body = JSON.stringify(await receiver.describe(event))
    const headers: Record<string, string> =
      receiver.apiKey === undefined ? {} : { authorization: `Bearer ${receiver.apiKey}` }
    const answer = await post({ url, body, headers, allowed: receiver.allowed, signal })
    return accepted(url, answer, receiver.apiKey === undefined ? [] : [receiver.apiKey])
  }
}

function endpointOf(address: string): URL {
  const url = new URL(address)
  if (url.pathname === '/') url.pathname = ENDPOINT
  return url
}

function notConfigured(): VitrinaError {
  return new VitrinaError(
    'CHANNEL_UNKNOWN',
    'No OpenLineage receiver is configured.',
    'Set OPENLINEAGE_URL and restart the API, or discard the message.',
  )
}
