import type { Author } from '../model/access.js'
import type { ChannelState, DeadMessage, NotificationRule, RuleSpec } from '../model/notification.js'
import type { Page, PageRequest } from './catalog.js'

/** The notification rules, and what became of their messages, as the API shows and changes them. */
export interface NotificationStore {
  /** By name. */
  listRules(): Promise<NotificationRule[]>
  /** 'taken': another rule has this name. 'full': there are `most` rules already. */
  createRule(spec: RuleSpec, most: number, author: Author): Promise<NotificationRule | 'taken' | 'full'>
  /** Null: the rule does not exist. */
  changeRule(
    id: string,
    change: (before: RuleSpec) => RuleSpec,
    author: Author,
  ): Promise<NotificationRule | 'taken' | null>
  /** Events that wait for a message are removed with the rule. False: the rule does not exist. */
  deleteRule(id: string, author: Author): Promise<boolean>
  channelStates(): Promise<ChannelState[]>
  /** Messages that were given up, newest first. */
  listDead(page: PageRequest): Promise<Page<DeadMessage>>
  /** Sends it again, or removes it from the list. False: no message that was given up has this id. */
  settleDead(id: string, as: 'retry' | 'discard', author: Author): Promise<boolean>
  forgetNotifications(days: number): Promise<void>
}
