import { setTimeout as delay } from 'node:timers/promises'
import type { CaptureEvents } from '../telemetry/capture-events.js'
import { Captor } from './captor.js'
import { Signals, WANTED_CHANNEL } from './signals.js'

export interface CaptorsOptions {
  readonly mainUrl: string
  /** The address of a connection for capturing; null: it is not configured here. */
  readonly sourceUrl: (connection: string) => string | null
  /** Runs one statement on the main database. */
  readonly query: (sql: string) => Promise<readonly WatchedHead[]>
  /** The runner. */
  readonly owner: string
  readonly leaseSeconds: number
  readonly keepBytes: number
  readonly events: CaptureEvents
}

export interface WatchedHead {
  readonly id: number
  readonly connection: string
}

const POLL_MS = 1_000

/** Those that a pipeline reads, and those whose slot is still to be dropped. */
const HEADS = `SELECT id, connection FROM etl.etl_change_heads h
  WHERE has_slot OR EXISTS (SELECT FROM etl.etl_change_positions p WHERE p.head = h.id)`

/** Of pipelines that were changed and no longer read the log: they would keep its entries, and the slot. */
const UNREGISTER = `
  WITH gone AS (
    DELETE FROM etl.etl_change_positions p USING etl.etl_change_heads h, etl.etl_pipelines q
     WHERE h.id = p.head AND q.id = p.pipeline_id
       AND (q.capture <> 'wal' OR q.mode <> 'incremental' OR coalesce(lower(q.source_connection), 'main') <> h.connection)
    RETURNING p.head)
  SELECT pg_notify('${WANTED_CHANNEL}', head::text) FROM gone`

/** The captors of a runner: one for each source database whose changes are captured. Without any, it only checks for heads each second. */
export class Captors {
  /** For consumers in this process. */
  readonly signals: Signals
  readonly #options: CaptorsOptions
  readonly #captors = new Map<number, Captor>()
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(options: CaptorsOptions) {
    this.#options = options
    this.signals = new Signals(options.mainUrl)
  }

  start(): void {
    this.#running = this.#loopUntilStopped()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await Promise.all([...this.#captors.values()].map((captor) => captor.stop()))
    await this.signals.stop()
  }

  async #loopUntilStopped(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // A main database that does not answer is reported by the manager.
      await this.#tick().catch(() => {})
      await delay(POLL_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #tick(): Promise<void> {
    const heads = await this.#options.query(HEADS)
    if (heads.length > 0) await this.#options.query(UNREGISTER)
    const ids = new Set(heads.map(({ id }) => id))
    for (const [id, captor] of this.#captors) {
      if (ids.has(id)) continue
      this.#captors.delete(id)
      await captor.stop()
    }
    for (const head of heads) if (!this.#captors.has(head.id)) this.#startCaptor(head)
  }

  #startCaptor({ id, connection }: WatchedHead): void {
    const { mainUrl, owner, leaseSeconds, keepBytes, events } = this.#options
    const sourceUrl = this.#options.sourceUrl(connection)
    if (sourceUrl === null) return
    this.signals.start()
    const { signals } = this
    const captor = new Captor({
      head: id,
      mainUrl,
      sourceUrl,
      owner,
      leaseSeconds,
      keepBytes,
      signals,
      events,
    })
    this.#captors.set(id, captor)
    captor.start()
  }
}
