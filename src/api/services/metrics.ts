import type { Catalog } from '../../ports/catalog.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import type { Fleet } from '../../telemetry/fleet.js'
import type { Meter } from '../../telemetry/meter.js'

/** What this process counted, and what all runners did: the runs happen elsewhere, so the meta store is asked. */
export class MetricsService {
  readonly #catalog: Catalog
  readonly #meter: Meter

  constructor(catalog: Catalog, meter: Meter) {
    this.#catalog = catalog
    this.#meter = meter
  }

  get contentType(): string {
    return this.#meter.contentType
  }

  async text(events: ApiEvents): Promise<string> {
    return this.#meter.text(await this.#fleet(events))
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
