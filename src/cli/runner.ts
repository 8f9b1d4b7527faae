import type { Command } from 'commander'
import { tellReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { command } from './command.js'

export function addRunner(program: Command): void {
  command(program, 'runner', 'Start a runner. Any number of them share the work.', 'runner').action(work)
}

async function work(): Promise<void> {
  // Not at the top: every other command would wait for a runner that it does not start.
  const { startRunner } = await import('../main/runner.js')
  const { createTelemetry } = await import('../main/telemetry.js')
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const runner = await startRunner(settings, await createTelemetry(settings, 'runner'))
    try {
      tellReady(runner.id)
      await aborted(signal)
    } finally {
      await runner.stop()
    }
  })
}
