import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import type { Catalog } from '../../ports/catalog.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import type { ReadyWire } from '../schemas/health.js'

/** Alive: this process answers. Ready: it can also do its work. */
export class HealthService {
  readonly #catalog: Catalog
  readonly #version: string
  #isDraining = false

  constructor(catalog: Catalog, version: string) {
    this.#catalog = catalog
    this.#version = version
  }

  /** The server is closing: whoever balances load should send people elsewhere. */
  drain(): void {
    this.#isDraining = true
  }

  live(): { status: 'ok'; version: string } {
    return { status: 'ok', version: this.#version }
  }

  async ready(events: ApiEvents): Promise<ReadyWire> {
    try {
      await this.#catalog.ping()
      return {
        status: this.#isDraining ? 'unavailable' : 'ok',
        version: this.#version,
        draining: this.#isDraining,
        checks: { database: { status: 'ok' }, migrations: { status: 'ok' } },
      }
    } catch (error) {
      events.notReady(error as Error)
      return {
        status: 'unavailable',
        version: this.#version,
        draining: this.#isDraining,
        checks: whatIsDown(error),
      }
    }
  }
}

function whatIsDown(error: unknown): ReadyWire['checks'] {
  const code = error instanceof VitrinaError ? error.code : 'DATABASE_UNAVAILABLE'
  const hint =
    error instanceof VitrinaError
      ? error.hint
      : 'See whether the server runs, and whether the login of the API may connect.'
  const isMigration = code === 'MIGRATION_MISSING' || code === 'MIGRATION_CHANGED'
  if (isMigration) return { database: { status: 'ok' }, migrations: down(code, hint) }
  return { database: down(code, hint), migrations: { status: 'unknown' } }
}

/** No sentence of the driver: anybody may ask, and it names hosts and logins. The log has it. */
function down(code: ErrorCode, hint: string): ReadyWire['checks']['database'] {
  return { status: 'down', code, detail: ERRORS[code].means, hint }
}
