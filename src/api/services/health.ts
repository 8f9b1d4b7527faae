import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import type { Catalog } from '../../ports/catalog.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import type { ReadyWire } from '../schemas/health.js'

/** How long a result of the database is cached: anyone may request it, as often as they like. */
const FRESH_MS = 1_000

/** Alive: this process responds. Ready: it can also do its work. */
export class HealthService {
  readonly #catalog: Pick<Catalog, 'ping'>
  readonly #version: string
  readonly #now: () => number
  #isDraining = false
  #last: { readonly at: number; readonly checks: Promise<ReadyWire['checks']> } | null = null

  constructor(catalog: Pick<Catalog, 'ping'>, version: string, now: () => number = () => performance.now()) {
    this.#catalog = catalog
    this.#version = version
    this.#now = now
  }

  /** The server is closing: a load balancer should send requests elsewhere. */
  drain(): void {
    this.#isDraining = true
  }

  live(): { status: 'ok'; version: string } {
    return { status: 'ok', version: this.#version }
  }

  async ready(events: ApiEvents): Promise<ReadyWire> {
    const checks = await this.#checks(events)
    const isWell = checks.database.status === 'ok' && checks.migrations.status === 'ok'
    return {
      status: isWell && !this.#isDraining ? 'ok' : 'unavailable',
      version: this.#version,
      draining: this.#isDraining,
      checks,
    }
  }

  /** One query to the database, however many requests arrive at the same time or within a second. */
  #checks(events: ApiEvents): Promise<ReadyWire['checks']> {
    const now = this.#now()
    if (this.#last === null || now - this.#last.at >= FRESH_MS)
      this.#last = { at: now, checks: this.#askDatabase(events) }
    return this.#last.checks
  }

  async #askDatabase(events: ApiEvents): Promise<ReadyWire['checks']> {
    try {
      await this.#catalog.ping()
      return { database: { status: 'ok' }, migrations: { status: 'ok' } }
    } catch (error) {
      events.notReady(error as Error)
      return whatIsDown(error)
    }
  }
}

function whatIsDown(error: unknown): ReadyWire['checks'] {
  const code = error instanceof VitrinaError ? error.code : 'DATABASE_UNAVAILABLE'
  const hint =
    error instanceof VitrinaError
      ? error.hint
      : 'Check that the server is running, and that the login of the API may connect.'
  const isMigration = code === 'MIGRATION_MISSING' || code === 'MIGRATION_CHANGED'
  if (isMigration) return { database: { status: 'ok' }, migrations: down(code, hint) }
  return { database: down(code, hint), migrations: { status: 'unknown' } }
}

/** Not the message of the driver: the route is open, and the message contains hosts and logins. The log has it. */
function down(code: ErrorCode, hint: string): ReadyWire['checks']['database'] {
  return { status: 'down', code, detail: ERRORS[code].means, hint }
}
