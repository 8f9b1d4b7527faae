import type { Settings } from '../config/settings.js'
import { createLog, type Logger } from '../telemetry/log.js'
import { createMeter, type Meter } from '../telemetry/meter.js'
import type { Tracer } from '../telemetry/trace.js'
import { environmentProblem } from './hidden-environment.js'
import { otlpSettings } from './otlp-settings.js'
import { VERSION } from './paths.js'

export interface Telemetry {
  readonly log: Logger
  readonly meter: Meter
  /** Not given: nothing is traced. Closed by the part that receives it. */
  readonly tracer?: Tracer
}

export async function createTelemetry(settings: Settings, service: 'api' | 'runner'): Promise<Telemetry> {
  const format = settings.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json')
  const log = createLog({ service, version: VERSION, level: settings.LOG_LEVEL, format })
  const reason = environmentProblem()
  if (reason !== null)
    log.warn('Task functions can read the environment of this process, including its secrets.', { reason })
  const tracer = await createTracer(settings, service, log)
  const meter = createMeter({ version: VERSION, mostPipelines: settings.METRICS_MAX_PIPELINES })
  return { log, meter, ...(tracer === null ? {} : { tracer }) }
}

/** Null without a collector; then none of it is even loaded. */
async function createTracer(
  { environment }: Settings,
  service: 'api' | 'runner',
  log: Logger,
): Promise<Tracer | null> {
  const otlp = otlpSettings(environment, service)
  if (otlp === null) return null
  const { OtlpTracer } = await import('../telemetry/otlp-tracer.js')
  const { OtlpSender } = await import('../telemetry/otlp-sender.js')
  if (otlp.otherProtocol !== null)
    log.warn('Traces are sent as JSON over HTTP; the configured protocol is not supported.', {
      protocol: otlp.otherProtocol,
    })
  const onLost = (err: Error) => log.warn('Traces could not be sent.', { err })
  const sender = new OtlpSender({ ...otlp, version: VERSION, onLost })
  return new OtlpTracer({
    ratio: otlp.ratio,
    keep: (span) => sender.keep(span),
    close: () => sender.close(),
  })
}
