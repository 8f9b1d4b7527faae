import type { Command } from 'commander'
import { tellReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { printAddresses } from './banner.js'
import { command } from './command.js'

export function addApi(program: Command): void {
  command(program, 'api', 'Start the API and the console, without a runner.', 'api').action(serve)
}

async function serve(): Promise<void> {
  // Not at the top: every other command would wait 0.2 s for a server that it does not start.
  const { startApi } = await import('../main/api.js')
  const { createTelemetry } = await import('../main/telemetry.js')
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const api = await startApi(settings, await createTelemetry(settings, 'api'))
    try {
      tellReady(api.url)
      // Inside a tree the parent tells people where to go.
      if (!process.connected) printAddresses(api.url, api.token)
      await aborted(signal)
    } finally {
      await api.stop()
    }
  })
}
