import type { Command } from 'commander'
import { loginUrl } from '../config/settings.js'
import { reportReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { waitForStore } from '../main/wait-for-database.js'
import { printAddresses } from './processes/banner.js'
import { WAIT_HELP, type WaitFlags, waitOptions } from './processes/wait-options.js'
import { command, timeSpan } from './program/command.js'

export function addApi(program: Command): void {
  command(program, {
    usage: 'api',
    description: 'Start the API and the console, without a runner.',
    examples: ['api', 'api --wait 5m'],
  })
    .option('--wait <time>', WAIT_HELP, timeSpan)
    .action(serve)
}

async function serve({ wait = 0 }: WaitFlags): Promise<void> {
  // Not at the top: every other command would spend 0.2 s loading a server that it does not start.
  const { startApi } = await import('../main/api.js')
  const { createTelemetry } = await import('../main/telemetry.js')
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const telemetry = await createTelemetry(settings, 'api')
    await waitForStore(loginUrl(settings, 'meta'), waitOptions(wait, telemetry, signal))
    const api = await startApi(settings, telemetry)
    try {
      reportReady(api.url)
      // Within "vitrina up", the parent prints the addresses.
      if (!process.connected) printAddresses(api.url, api.token)
      await aborted(signal)
    } finally {
      await api.stop()
    }
  })
}
