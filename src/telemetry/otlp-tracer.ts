import { randomBytes } from 'node:crypto'
import { type OtlpSpan, otlpSpan } from './otlp-span.js'
import { NO_SPAN, type Span, type SpanStart, type TraceContext, type Tracer } from './trace.js'

export interface TracerOptions {
  /** The share of traces that start here and are kept, from 0 to 1. The decision of a caller takes precedence. */
  readonly ratio: number
  /** Receives a span that has ended. */
  readonly keep: (span: OtlpSpan) => void
  readonly close: () => Promise<void>
}

/** Creates spans and passes on those that have ended. */
export class OtlpTracer implements Tracer {
  readonly isOn = true
  readonly #options: TracerOptions

  constructor(options: TracerOptions) {
    this.#options = options
  }

  start(start: SpanStart): Span {
    const { parent } = start
    const traceId = parent?.traceId ?? start.traceId ?? randomBytes(16).toString('hex')
    // A trace that is not kept still has its id in the logs.
    if (!(parent?.sampled ?? isChosen(traceId, this.#options.ratio)))
      return { ...NO_SPAN, context: parent ?? { traceId, spanId: newSpanId(), sampled: false } }
    return this.#recorded(start, { traceId, spanId: newSpanId(), sampled: true })
  }

  close(): Promise<void> {
    return this.#options.close()
  }

  #recorded(start: SpanStart, context: TraceContext): Span {
    const from = start.at ?? performance.now()
    let isOpen = true
    return {
      context,
      end: (end = {}) => {
        if (!isOpen) return
        isOpen = false
        this.#options.keep(otlpSpan(context, { ...start, from }, { ...end, to: end.at ?? performance.now() }))
      },
    }
  }
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

/**
 * By the trace id alone, so that every process decides alike. By its last bits, because those of a run's id are
 * random.
 */
function isChosen(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
}
