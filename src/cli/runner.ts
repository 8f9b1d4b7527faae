import type { Command } from 'commander'
import { tellReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { startRunner } from '../main/runner.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { createTelemetry } from '../main/telemetry.js'

export function addRunner(program: Command): void {
  program.command('runner').description('Start a runner. Any number of them share the work.').action(work)
}

async function work(): Promise<void> {
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const runner = await startRunner(settings, createTelemetry(settings, 'runner'))
    try {
      tellReady(runner.id)
      await aborted(signal)
    } finally {
      await runner.stop()
    }
  })
}
