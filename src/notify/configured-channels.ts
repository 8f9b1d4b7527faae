import type { ChannelConfig } from '../config/channels.js'
import { VitrinaError } from '../model/errors.js'
import type { NotificationMessage } from '../model/notification.js'
import type { ChannelInfo, Channels } from '../ports/channels.js'
import type { Channel, ChannelOptions } from './channel.js'
import { emailChannel } from './channels/email.js'
import { slackChannel } from './channels/slack.js'
import { teamsChannel } from './channels/teams.js'
import { telegramChannel } from './channels/telegram.js'
import { webhookChannel } from './channels/webhook.js'
import { messageText } from './message-text.js'

/** The channels in the settings of this deployment. */
export class ConfiguredChannels implements Channels {
  readonly #channels: ReadonlyMap<string, Channel>
  readonly #publicUrl: string

  constructor(configs: ReadonlyMap<string, ChannelConfig>, options: ChannelOptions) {
    this.#channels = new Map([...configs].map(([name, config]) => [name, channelOf(config, options)]))
    this.#publicUrl = options.publicUrl
  }

  list(): ChannelInfo[] {
    return [...this.#channels]
      .map(([name, { type, host }]) => ({ name, type, host }))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  async send(message: NotificationMessage, signal?: AbortSignal): Promise<string> {
    const channel = this.#channels.get(message.channel)
    if (channel === undefined) throw unknown(message.channel)
    return channel.send({ message, text: messageText(message, this.#publicUrl), signal })
  }
}

function channelOf(config: ChannelConfig, options: ChannelOptions): Channel {
  switch (config.type) {
    case 'webhook':
      return webhookChannel(config, options)
    case 'slack':
      return slackChannel(config, options)
    case 'teams':
      return teamsChannel(config, options)
    case 'telegram':
      return telegramChannel(config, options)
    case 'email':
      return emailChannel(config, options)
  }
}

function unknown(name: string): VitrinaError {
  return new VitrinaError(
    'CHANNEL_UNKNOWN',
    `The channel ${name} is not configured.`,
    'Add it to VITRINA_CHANNELS and restart the API, or choose another channel.',
  )
}
