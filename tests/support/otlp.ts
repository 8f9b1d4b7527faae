import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as received, with its attributes as plain values and its place in the request. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: number
  readonly from: bigint
  readonly to: bigint
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: Readonly<Record<string, unknown>>
  readonly service: string
}

export interface Collector {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** The received requests, unchanged. */
  readonly bodies: string[]
  readonly headers: Record<string, unknown>[]
  /** The status it returns; 200 unless set. */
  status: number
  close(): Promise<void>
}

/** A receiver of OTLP over HTTP. The caller closes it. */
export async function aCollector(): Promise<Collector> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8')
      const isTraces = request.method === 'POST' && request.url === '/v1/traces'
      response.writeHead(isTraces ? collector.status : 404, { 'content-type': 'application/json' })
      response.end('{}')
      if (!isTraces || collector.status !== 200) return
      collector.bodies.push(body)
      collector.headers.push(request.headers)
      collector.spans.push(...decode(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    bodies: [],
    headers: [],
    status: 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return collector
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}
interface WireAttribute {
  readonly key: string
  readonly value: WireValue
}
interface WireValue {
  readonly stringValue?: string
  readonly intValue?: string
  readonly boolValue?: boolean
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values: readonly WireValue[] }
}
type WireSpan = Omit<ReceivedSpan, 'from' | 'to' | 'attributes' | 'service' | 'parentSpanId'> & {
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly WireAttribute[]
}

/** Throws for anything else than the protocol: a test that continued would test nothing. */
function decode(body: string): ReceivedSpan[] {
  return (JSON.parse(body) as OtlpRequest).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(plain(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => decodeSpan(span, service)))
  })
}

function decodeSpan(span: WireSpan, service: string): ReceivedSpan {
  if (!/^[0-9a-f]{32}$/.test(span.traceId) || !/^[0-9a-f]{16}$/.test(span.spanId))
    throw new Error(`not the ids of a span: ${span.traceId} ${span.spanId}`)
  const { name, kind, status, traceId, spanId, parentSpanId = null } = span
  const [from, to] = [BigInt(span.startTimeUnixNano), BigInt(span.endTimeUnixNano)]
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    status,
    from,
    to,
    service,
    attributes: plain(span.attributes),
  }
}

function plain(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))
}

function plainValue(value: WireValue): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plainValue)
  return value.stringValue ?? value.boolValue ?? value.doubleValue
}
