import type { Catalog } from '../../ports/catalog.js'
import type { NotificationStore } from '../../ports/notification-store.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import type { FleetState } from '../../telemetry/fleet.js'
import type { Meter } from '../../telemetry/meter.js'

/**
 * How long the response with every series is cached: for 10,000 pipelines it has 17 MB and takes a second to write.
 */
const FRESH_MS = 5_000

interface MetricsOptions {
  /** Pipelines with their own series. */
  readonly most: number
  /** Not given: messages that wait are not counted. */
  readonly notifications?: Pick<NotificationStore, 'channelStates'>
  /** In milliseconds, from a monotonic clock. */
  readonly now?: () => number
}

/** The counts of this process, and those of all runners: runs happen elsewhere, so the meta store is queried. */
export class MetricsService {
  readonly #catalog: Catalog
  readonly #meter: Meter
  readonly #most: number
  readonly #notifications: MetricsOptions['notifications']
  readonly #now: () => number
  #all: { readonly at: number; readonly text: Promise<string> } | null = null

  constructor(catalog: Catalog, meter: Meter, options: MetricsOptions) {
    const { most, notifications, now = () => performance.now() } = options
    this.#catalog = catalog
    this.#meter = meter
    this.#most = most
    this.#notifications = notifications
    this.#now = now
  }

  get contentType(): string {
    return this.#meter.contentType
  }

  /** `all`: every pipeline has its own series. `none`: no pipeline has. */
  async text(events: ApiEvents, which: 'all' | 'none' | undefined): Promise<string> {
    if (which === 'all') return this.#everything(events)
    return this.#meter.text(await this.#fleet(events), which === 'none' ? 0 : this.#most)
  }

  #everything(events: ApiEvents): Promise<string> {
    const now = this.#now()
    if (this.#all === null || now - this.#all.at >= FRESH_MS) {
      const text = this.#fleet(events).then((fleet) => this.#meter.text(fleet, Number.POSITIVE_INFINITY))
      this.#all = { at: now, text }
    }
    return this.#all.text
  }

  /** Null if the meta store does not respond: its monitoring must not fail together with it. */
  async #fleet(events: ApiEvents): Promise<FleetState | null> {
    try {
      const [totals, pulse, sources, channels] = await Promise.all([
        this.#catalog.runTotals(),
        this.#catalog.fleetPulse(),
        this.#catalog.listSources(),
        this.#notifications?.channelStates() ?? [],
      ])
      this.#meter.notificationsWaiting(channels)
      return { totals, pulse, sources }
    } catch (error) {
      events.metaStoreLost(error as Error)
      return null
    }
  }
}
