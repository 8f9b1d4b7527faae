/** A position in a trace, as defined by W3C Trace Context. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  /** Whether this trace is recorded. */
  readonly sampled: boolean
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | null>>

/** Why a span failed. Not the message, which may quote values of rows: traces are sent to other systems. */
export interface SpanError {
  /** An error code of Vitrina. */
  readonly type: string
  readonly means: string
  readonly sqlstate: string | null
}

export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'consumer' | 'internal'
  readonly parent: TraceContext | null
  /** The id of a trace that starts here; not given: a random one. */
  readonly traceId?: string
  readonly attributes?: Attributes
  /** By performance.now(); not given: now. */
  readonly at?: number
}

export interface SpanEnd {
  readonly attributes?: Attributes
  readonly error?: SpanError | null
  /** By performance.now(); not given: now. */
  readonly at?: number
}

export interface Span {
  /** The parent for further spans; null: nothing is traced. */
  readonly context: TraceContext | null
  end(end?: SpanEnd): void
}

/**
 * Sends spans to a trace collector. Sending happens later and elsewhere: it never delays or fails the traced work.
 */
export interface Tracer {
  /** Whether there is a collector at all. */
  readonly isOn: boolean
  start(span: SpanStart): Span
  /** Sends what is left. */
  close(): Promise<void>
}

export const NO_SPAN: Span = { context: null, end: () => {} }
export const NO_TRACER: Tracer = { isOn: false, start: () => NO_SPAN, close: async () => {} }

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Null for invalid values: a caller's mistake in a header must not fail the request. */
export function parseTraceparent(text: unknown): TraceContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    typeof text === 'string' ? (TRACEPARENT.exec(text) ?? []) : []
  // Only a later version may have more parts.
  if (version === undefined || (version === '00' && more !== undefined)) return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}
