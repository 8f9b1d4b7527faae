import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { untilStopped } from '../main/shutdown.js'
import { command } from './command.js'
import { step } from './output.js'
import { prepareAndTell } from './prepare.js'

export function addMigrate(program: Command): void {
  command(
    program,
    'migrate',
    'Bring the meta store up to date and grant the three logins what they need. Safe to repeat.',
    'migrate',
  ).action(() =>
    untilStopped((signal) =>
      withMainDatabase(readEnvironment(), { signal, onProgress: step, embedded: 'join' }, prepareAndTell),
    ),
  )
}
