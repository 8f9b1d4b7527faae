import type { NotificationMessage } from '../model/notification.js'

export const CHANNEL_TYPES = ['webhook', 'slack', 'teams', 'telegram', 'email', 'openlineage'] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]

export interface ChannelInfo {
  readonly name: string
  readonly type: ChannelType
  /** The host that it sends to, without path, login or token. */
  readonly host: string
}

/** The channels of this deployment. Their addresses and secrets never leave the implementation. */
export interface Channels {
  /** By name. */
  list(): readonly ChannelInfo[]
  /**
   * Returns the response of the receiver in plain words. Throws a VitrinaError if the channel is unknown, its host is
   * not allowed, or the message was not accepted.
   */
  send(message: NotificationMessage, signal?: AbortSignal): Promise<string>
}
