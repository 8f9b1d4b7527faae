import { onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { startRunner } from '../../src/main/runner.js'
import type { Way } from '../../src/model/pipeline.js'
import type { SinkModule } from '../../src/sinks/index.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import type { TestDatabase } from './database.js'

export interface TestRunner {
  readonly id: string
  stop(): Promise<void>
}

/** A runner in this process, on a database of the test; stopped when the test ends. Made in beforeAll: by whoever made it. */
export async function aRunner(
  database: TestDatabase,
  options: { way?: Way; env?: Record<string, string>; sinks?: readonly SinkModule[] } = {},
): Promise<TestRunner> {
  const settings = readSettings({
    DATABASE_URL: database.url,
    RUNNER_POLL_INTERVAL_MS: '100',
    ...options.env,
  })
  const level = (process.env.TEST_LOG_LEVEL ?? 'silent') as 'silent'
  const telemetry = {
    log: createLog({ service: 'runner', version: 'test', level, format: 'pretty' }),
    meter: createMeter({ version: 'test' }),
  }
  const runner = await startRunner(settings, telemetry, {
    ...(options.way === undefined ? {} : { way: options.way }),
    ...(options.sinks === undefined ? {} : { sinks: options.sinks }),
  })
  let stopped: Promise<void> | null = null
  const stop = () => (stopped ??= runner.stop())
  try {
    onTestFinished(stop)
  } catch {
    // Not inside a test: whoever started it stops it.
  }
  return { id: runner.id, stop }
}
