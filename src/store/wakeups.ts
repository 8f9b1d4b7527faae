import type { Wakeups } from '../ports/wakeups.js'
import { Listener } from '../postgres/listener.js'

/** Notifications of the database: a run was requested, or the journal has new events. */
export type NotifyChannel = 'vitrina_run_requested' | 'vitrina_events'

/** Wakes up on notifications of one channel. Behind a pooler without NOTIFY nothing arrives, and polling does the work. */
export class NotifyWakeups implements Wakeups {
  readonly #url: string
  readonly #channel: NotifyChannel
  #listener: Listener | null = null

  constructor(url: string, channel: NotifyChannel = 'vitrina_run_requested') {
    this.#url = url
    this.#channel = channel
  }

  start(wake: () => void): void {
    this.#listener = new Listener({
      url: this.#url,
      name: 'vitrina-wakeups',
      channels: [this.#channel],
      onNotification: wake,
      onConnect: wake,
    })
    this.#listener.start()
  }

  async stop(): Promise<void> {
    await this.#listener?.stop()
  }
}
