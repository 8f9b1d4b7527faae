import type { NotificationMessage } from '../model/notification.js'
import type { ChannelType } from '../ports/channels.js'
import type { AllowedHosts } from './allowed-host.js'
import type { MessageText } from './message-text.js'

/** A message, in facts and in words. */
export interface OutgoingMessage {
  readonly message: NotificationMessage
  readonly text: MessageText
  readonly signal?: AbortSignal | undefined
}

/** One configured channel. `send` returns the response of the receiver in plain words, or throws a VitrinaError. */
export interface Channel {
  readonly type: ChannelType
  readonly host: string
  send(outgoing: OutgoingMessage): Promise<string>
}

export interface ChannelOptions {
  readonly allowed: AllowedHosts
  /** Where users reach the console, without a trailing slash. */
  readonly publicUrl: string
}
