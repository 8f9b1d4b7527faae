import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import { type MainSettings, readEnvironment } from '../main/environment.js'
import { untilStopped } from '../main/shutdown.js'
import { waitForDatabase } from '../main/wait-for-database.js'
import { step } from './output/print.js'
import { prepareAndReport } from './processes/prepare.js'
import { command, timeSpan } from './program/command.js'

interface MigrateFlags {
  /** Seconds. */
  readonly wait?: number
}

export function addMigrate(program: Command): void {
  command(program, {
    usage: 'migrate',
    description:
      'Migrate the meta store to the current version and grant the three logins what they need. Safe to repeat.',
    examples: ['migrate', 'migrate --wait 60s'],
  })
    .option('--wait <time>', 'how long to wait for a database that does not accept connections yet', timeSpan)
    .action(({ wait = 0 }: MigrateFlags) => untilStopped((signal) => bringUpToDate(wait, signal)))
}

async function bringUpToDate(waitSeconds: number, signal: AbortSignal): Promise<void> {
  const options = { signal, onProgress: step, embedded: 'join' } as const
  await withMainDatabase(readEnvironment(), options, async (settings: MainSettings) => {
    const onWait = (reason: string) => step(`Waiting for the database. ${reason}`)
    await waitForDatabase(settings.DATABASE_URL, { ms: waitSeconds * 1000, signal, onWait })
    await prepareAndReport(settings)
  })
}
