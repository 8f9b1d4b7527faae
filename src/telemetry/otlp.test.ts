import { describe, expect, it, onTestFinished } from 'vitest'
import { aCollector, type Collector } from '../../tests/support/otlp.js'
import { waitFor } from '../../tests/support/wait.js'
import { readSettings } from '../config/settings.js'
import { otlpSettings } from '../main/otlp-settings.js'
import { createTelemetry } from '../main/telemetry.js'
import { OtlpSender } from './otlp-sender.js'
import { OtlpTracer } from './otlp-tracer.js'
import { formatTraceparent, parseTraceparent } from './trace.js'

async function collected(): Promise<Collector> {
  const collector = await aCollector()
  onTestFinished(() => collector.close())
  return collector
}

function tracing(collector: Collector, ratio = 1) {
  const lost: Error[] = []
  const sender = new OtlpSender({
    url: `${collector.url}/v1/traces`,
    headers: {},
    timeoutMs: 5_000,
    resource: { 'service.name': 'test' },
    version: '1',
    onLost: (error) => lost.push(error),
  })
  const tracer = new OtlpTracer({ ratio, keep: (span) => sender.keep(span), close: () => sender.close() })
  const span = (name: string) => tracer.start({ name, kind: 'internal', parent: null })
  return { tracer, span, lost }
}

describe('a collector', () => {
  it('that is unreachable for a while receives everything once it is back, and only once', async () => {
    const collector = await collected()
    collector.status = 503
    const { tracer, span, lost } = tracing(collector)
    span('first').end()
    await waitFor(async () => lost.length > 0, { what: 'the first rejection' })
    span('second').end()
    collector.status = 200
    await waitFor(async () => collector.spans.length > 0, { what: 'the spans' })
    await tracer.close()
    expect(collector.spans.map(({ name }) => name)).toEqual(['first', 'second'])
    expect(lost).toHaveLength(1)
  })

  it('that rejects a request permanently does not block later spans', async () => {
    const collector = await collected()
    collector.status = 400
    const { tracer, span, lost } = tracing(collector)
    span('refused').end()
    await waitFor(async () => lost.length > 0, { what: 'the rejection' })
    collector.status = 200
    span('taken').end()
    await tracer.close()
    expect(collector.spans.map(({ name }) => name)).toEqual(['taken'])
  })

  it('that is unreachable does not keep a process from ending', async () => {
    const collector = await collected()
    await collector.close()
    const { tracer, span, lost } = tracing(collector)
    span('lost').end()
    await tracer.close()
    expect(lost).toHaveLength(1)
  })

  it('receives more spans than fit into one request', async () => {
    const collector = await collected()
    const { tracer, span } = tracing(collector)
    for (let n = 0; n < 1_200; n++) span(`span ${n}`).end()
    await tracer.close()
    expect([collector.spans.length, collector.bodies.length]).toEqual([1_200, 3])
  })
})

describe('a span', () => {
  it('is passed on once, however often it is ended', async () => {
    const collector = await collected()
    const { tracer, span } = tracing(collector)
    const one = span('one')
    one.end({ attributes: { first: true, skipped: null, part: 0.5 } })
    one.end({ attributes: { first: false } })
    await tracer.close()
    expect(collector.spans.map(({ attributes }) => attributes)).toEqual([{ first: true, part: 0.5 }])
  })

  it('follows the decision of its caller, or the ratio without a caller', async () => {
    const collector = await collected()
    const { tracer, span } = tracing(collector, 0)
    const kept = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true }
    span('root').end()
    tracer.start({ name: 'kept', kind: 'internal', parent: kept }).end()
    tracer.start({ name: 'not kept', kind: 'internal', parent: { ...kept, sampled: false } }).end()
    await tracer.close()
    expect(collector.spans.map(({ name }) => name)).toEqual(['kept'])
  })
})

describe('traceparent', () => {
  const context = {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    sampled: true,
  }

  it('is read and written according to W3C Trace Context', () => {
    const text = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect(parseTraceparent(text)).toEqual(context)
    expect(formatTraceparent(context)).toBe(text)
    expect(parseTraceparent(`cc${text.slice(2)}-what-the-future-will-be-like`)).toEqual(context)
    expect(parseTraceparent(text.replace('-01', '-02'))).toEqual({ ...context, sampled: false })
  })

  it.each([
    ['nothing', undefined],
    ['two of them', ['a', 'b']],
    ['an invalid version', 'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['more than version 00 has', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more'],
    ['a trace of zeros', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['a span of zeros', '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'],
    ['capital letters', '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01'],
    ['something long', `00-${'a'.repeat(10_000)}`],
  ])('that is %s is ignored', (_what, text) => {
    expect(parseTraceparent(text)).toBeNull()
  })
})

describe('the variables of OpenTelemetry', () => {
  it('trace nothing, and load nothing, when none names a collector', async () => {
    expect((await createTelemetry(readSettings({}), 'runner')).tracer).toBeUndefined()
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }
    expect(otlpSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' }, 'api')).toBeNull()
    expect(otlpSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, 'api')).toBeNull()
  })

  it('have their standard meaning', () => {
    const settings = otlpSettings(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/base/',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, broken ,tenant=a=b',
        OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_SERVICE_NAME: 'etl',
        OTEL_RESOURCE_ATTRIBUTES: 'team=films',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      },
      'api',
    )
    expect(settings).toMatchObject({
      url: 'http://localhost:4318/base/v1/traces',
      headers: { authorization: 'Bearer x', tenant: 'a=b' },
      timeoutMs: 2500,
      ratio: 0.25,
      otherProtocol: 'grpc',
      resource: { 'service.name': 'etl', team: 'films' },
    })
    const whole = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in' }
    expect(otlpSettings(whole, 'api')?.url).toBe('https://traces.example.com/in')
  })
})
