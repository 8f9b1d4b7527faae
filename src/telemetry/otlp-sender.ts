import { type OtlpSpan, otlpAttributes } from './otlp-span.js'
import type { Attributes } from './trace.js'

export interface SenderOptions {
  /** The OTLP/HTTP endpoint. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** The resource: service.name and the like. */
  readonly resource: Attributes
  readonly version: string
  /** Called once each time the collector becomes unreachable. */
  readonly onLost: (error: Error) => void
}

const EVERY_MS = 1_000
/**
 * A collector that is unreachable for long costs at most this much memory, a few megabytes; then the oldest spans are
 * dropped.
 */
const MOST_SPANS = 8_192
const SPANS_AT_ONCE = 512
const LONGEST_WAIT_MS = 30_000
/** Status codes of a collector that will accept the same spans later. */
const LATER = [429, 502, 503, 504]

/** Sends spans to a collector in the background. Nothing waits for it, except at the end of the process. */
export class OtlpSender {
  readonly #options: SenderOptions
  #spans: OtlpSpan[] = []
  #timer: NodeJS.Timeout | null = null
  #sending: Promise<void> = Promise.resolve()
  #failures = 0

  constructor(options: SenderOptions) {
    this.#options = options
  }

  keep(span: OtlpSpan): void {
    this.#spans.push(span)
    if (this.#spans.length > MOST_SPANS) this.#spans.shift()
    this.#arm(EVERY_MS)
  }

  /** One last attempt, with a timeout. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#sending
    while (this.#spans.length > 0 && (await this.#sendSome()));
    this.#spans = []
  }

  #arm(afterMs: number): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#sending = this.#sendAll()
    }, afterMs)
    // Spans must not keep a process running.
    this.#timer.unref()
  }

  async #sendAll(): Promise<void> {
    while (this.#spans.length > 0 && (await this.#sendSome()));
    this.#timer = null
    if (this.#spans.length > 0) this.#arm(Math.min(EVERY_MS * 2 ** this.#failures, LONGEST_WAIT_MS))
  }

  /** False: the collector is unreachable, and the spans are kept. */
  async #sendSome(): Promise<boolean> {
    const spans = this.#spans.splice(0, SPANS_AT_ONCE)
    try {
      if (await this.#post(spans)) {
        this.#failures = 0
        return true
      }
    } catch (error) {
      if (this.#failures === 0) this.#options.onLost(error as Error)
    }
    this.#failures += 1
    this.#spans = [...spans, ...this.#spans].slice(-MOST_SPANS)
    return false
  }

  /** False: later. Spans that the collector rejects permanently are dropped, or they would block the queue. */
  async #post(spans: readonly OtlpSpan[]): Promise<boolean> {
    const { url, headers, timeoutMs } = this.#options
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(this.#request(spans)),
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.arrayBuffer()
    if (response.ok) return true
    const refusal = new Error(`The collector returned status ${response.status}.`)
    if (LATER.includes(response.status)) throw refusal
    this.#options.onLost(refusal)
    return true
  }

  #request(spans: readonly OtlpSpan[]): unknown {
    const { resource, version } = this.#options
    return {
      resourceSpans: [
        {
          resource: { attributes: otlpAttributes(resource) },
          scopeSpans: [{ scope: { name: 'vitrina', version }, spans }],
        },
      ],
    }
  }
}
