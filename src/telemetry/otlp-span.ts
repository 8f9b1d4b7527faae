import type { Attributes, SpanEnd, SpanStart, TraceContext } from './trace.js'

/** A span in the JSON format of OTLP: ids in hex, times and integers as text. */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code: number; readonly message?: string }
}

export interface OtlpAttribute {
  readonly key: string
  readonly value: unknown
}

const KINDS = { internal: 1, server: 2, consumer: 5 } as const
const STATUS = { unset: 0, error: 2 } as const

export function otlpSpan(
  context: TraceContext,
  { name, kind, parent, attributes, from }: SpanStart & { readonly from: number },
  end: SpanEnd & { readonly to: number },
): OtlpSpan {
  const { error = null } = end
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parent === null ? {} : { parentSpanId: parent.spanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(end.to),
    attributes: otlpAttributes({
      ...attributes,
      ...end.attributes,
      'error.type': error?.type ?? null,
      'db.response.status_code': error?.sqlstate ?? null,
    }),
    status: error === null ? { code: STATUS.unset } : { code: STATUS.error, message: error.means },
  }
}

/** Attributes that are null are left out. */
export function otlpAttributes(attributes: Attributes): OtlpAttribute[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: otlpValue(value) }],
  )
}

function otlpValue(value: NonNullable<Attributes[string]>): unknown {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } }
}

/** The origin of performance.now(). It moves only when the clock was corrected: spans must keep their order. */
let origin = performance.timeOrigin
const SET_MS = 100

function nanoseconds(at: number): string {
  const now = Date.now() - performance.now()
  if (Math.abs(now - origin) > SET_MS) origin = now
  return String(BigInt(Math.round((origin + at) * 1000)) * 1000n)
}
