import { hostname } from 'node:os'
import { trimEnd } from '../model/trim-end.js'
import type { Attributes } from '../telemetry/trace.js'
import { VERSION } from './paths.js'

export interface OtlpSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly resource: Attributes
  readonly ratio: number
  /** A configured protocol that is not supported. */
  readonly otherProtocol: string | null
}

/** The OpenTelemetry variables for traces, with their standard meaning. Null: nothing is traced. */
export function otlpSettings(env: NodeJS.ProcessEnv, service: 'api' | 'runner'): OtlpSettings | null {
  const url = tracesUrl(env)
  if (url === null || env.OTEL_SDK_DISABLED === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return null
  const of = (name: string) => env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`]
  const protocol = of('PROTOCOL') ?? 'http/json'
  return {
    url,
    headers: pairs(of('HEADERS')),
    timeoutMs: Number(of('TIMEOUT')) || 10_000,
    resource: {
      'service.name': env.OTEL_SERVICE_NAME || `vitrina-${service}`,
      'service.version': VERSION,
      'service.instance.id': `${hostname()}-${process.pid}`,
      ...pairs(env.OTEL_RESOURCE_ATTRIBUTES),
    },
    ratio: rootRatio(env),
    otherProtocol: protocol.startsWith('http/') ? null : protocol,
  }
}

function tracesUrl(env: NodeJS.ProcessEnv): string | null {
  if (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT
  return base ? `${trimEnd(base, '/')}/v1/traces` : null
}

/** `name=value,name=value`, percent-encoded. Invalid pairs are ignored. */
function pairs(text = ''): Record<string, string> {
  const found = text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const]
  })
  return Object.fromEntries(found)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The share of traces that start here and are kept. If a caller has a trace, its decision applies. */
function rootRatio({
  OTEL_TRACES_SAMPLER: sampler = '',
  OTEL_TRACES_SAMPLER_ARG: argument,
}: NodeJS.ProcessEnv): number {
  if (sampler.endsWith('always_off')) return 0
  const ratio = Number(argument)
  return sampler.endsWith('traceidratio') && ratio >= 0 && ratio <= 1 ? ratio : 1
}
