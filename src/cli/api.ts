import type { Command } from 'commander'
import { startApi } from '../main/api.js'
import { tellReady } from '../main/child.js'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { createTelemetry } from '../main/telemetry.js'
import { printAddresses } from './banner.js'

export function addApi(program: Command): void {
  program.command('api').description('Start the API and the console, without a runner.').action(serve)
}

async function serve(): Promise<void> {
  await untilStopped(async (signal) => {
    const settings = await withExistingDatabase(readEnvironment())
    const api = await startApi(settings, createTelemetry(settings, 'api'))
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
