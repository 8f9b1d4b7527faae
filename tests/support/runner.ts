import { onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { type RunnerOverrides, startRunner } from '../../src/main/runner.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import type { TestDatabase } from './database.js'

export interface TestRunner {
  readonly id: string
  stop(): Promise<void>
}

/**
 * A runner in this process, on a database of the test; stopped when the test ends. If created in beforeAll: by its
 * creator.
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
  try {
    onTestFinished(stop)
  } catch {
    // Not inside a test: the caller stops it.
  }
  return { id: runner.id, stop }
}
