import type { Command } from 'commander'
import { loginUrl } from '../config/settings.js'
import { reportReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { waitForStore } from '../main/wait-for-database.js'
import { WAIT_HELP, type WaitFlags, waitOptions } from './processes/wait-options.js'
import { command, timeSpan } from './program/command.js'

export function addRunner(program: Command): void {
  command(program, {
    usage: 'runner',
    description: 'Start a runner. Any number of runners share the work.',
    examples: ['runner', 'runner --wait 5m'],
  })
    .option('--wait <time>', WAIT_HELP, timeSpan)
    .action(work)
}

async function work({ wait = 0 }: WaitFlags): Promise<void> {
  // Not at the top: every other command would wait for a runner that it does not start.
  const { startRunner } = await import('../main/runner.js')
  const { createTelemetry } = await import('../main/telemetry.js')
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const telemetry = await createTelemetry(settings, 'runner')
    await waitForStore(loginUrl(settings, 'writer'), waitOptions(wait, telemetry, signal))
    const runner = await startRunner(settings, telemetry)
    try {
      reportReady(runner.id)
      await aborted(signal)
    } finally {
      await runner.stop()
    }
  })
}
