import type { Catalog } from '../../ports/catalog.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import type { Fleet } from '../../telemetry/fleet.js'
import type { Meter } from '../../telemetry/meter.js'

/** How long the answer with every series is good for: of 10,000 pipelines it is 17 MB, and takes a second to write. */
const FRESH_MS = 5_000

interface MetricsOptions {
  /** Pipelines that have series of their own. */
  readonly most: number
  /** In milliseconds, of a clock that never goes back. */
  readonly now?: () => number
}

/** What this process counted, and what all runners did: the runs happen elsewhere, so the meta store is asked. */
export class MetricsService {
  readonly #catalog: Catalog
  readonly #meter: Meter
  readonly #most: number
  readonly #now: () => number
  #all: { readonly at: number; readonly text: Promise<string> } | null = null

  constructor(catalog: Catalog, meter: Meter, { most, now = () => performance.now() }: MetricsOptions) {
    this.#catalog = catalog
    this.#meter = meter
    this.#most = most
    this.#now = now
  }

  get contentType(): string {
    return this.#meter.contentType
  }

  /** `all`: every pipeline has series of its own, however many there are. `none`: none has. */
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

  /** Null when the meta store does not answer: whoever watches it must not go blind together with it. */
  async #fleet(events: ApiEvents): Promise<Fleet | null> {
    try {
      const [totals, pulse] = await Promise.all([this.#catalog.runTotals(), this.#catalog.fleetPulse()])
      return { totals, pulse }
    } catch (error) {
      events.metaStoreLost(error as Error)
      return null
    }
  }
}
