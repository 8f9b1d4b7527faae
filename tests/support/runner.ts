import { readSettings } from '../../src/config/settings.js'
import { type RunnerOverrides, startRunner } from '../../src/main/runner.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { closeAtEnd } from './close-at-end.js'
import type { TestDatabase } from './database.js'

export interface TestRunner {
  readonly id: string
  stop(): Promise<void>
}

/**
 * A runner in this process, on a database of the test; stopped at the end of the test, or of the file.
 */
export async function aRunner(
  database: TestDatabase,
  { env = {}, ...overrides }: RunnerOverrides & { env?: Record<string, string> } = {},
): Promise<TestRunner> {
  const settings = readSettings({
    DATABASE_URL: database.url,
    RUNNER_POLL_INTERVAL_MS: '100',
    ...env,
  })
  const level = (process.env.TEST_LOG_LEVEL ?? 'silent') as 'silent'
  const telemetry = {
    log: createLog({ service: 'runner', version: 'test', level, format: 'pretty' }),
    meter: createMeter({ version: 'test' }),
  }
  const runner = await startRunner(settings, telemetry, overrides)
  let stopped: Promise<void> | null = null
  const stop = () => (stopped ??= runner.stop())
  closeAtEnd(stop)
  return { id: runner.id, stop }
}
