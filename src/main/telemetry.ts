import type { Settings } from '../config/settings.js'
import { createLog, type Logger } from '../telemetry/log.js'
import { createMeter, type Meter } from '../telemetry/meter.js'
import { VERSION } from './paths.js'

export interface Telemetry {
  readonly log: Logger
  readonly meter: Meter
}

export function createTelemetry(settings: Settings, service: 'api' | 'runner'): Telemetry {
  const format = settings.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json')
  const log = createLog({ service, version: VERSION, level: settings.LOG_LEVEL, format })
  return { log, meter: createMeter({ version: VERSION }) }
}
