import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { withTree } from '../main/process-tree.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { step } from './output/print.js'
import { printBanner } from './processes/banner.js'
import { prepareAndReport } from './processes/prepare.js'
import { command } from './program/command.js'

export function addUp(program: Command): void {
  command(program, {
    usage: 'up',
    description: 'Start everything: database (unless DATABASE_URL is set), API, runner and console.',
    examples: ['up'],
  }).action(() => untilStopped(bringUp))
}

async function bringUp(signal: AbortSignal): Promise<void> {
  const given = readEnvironment()
  await withMainDatabase(given, { signal, onProgress: step, embedded: 'own' }, async (settings, database) => {
    await prepareAndReport(settings)
    step('Starting API and runner')
    const options = { signal, logLevel: settings.LOG_LEVEL, database, report: step }
    await withTree(settings, options, async (tree) => {
      await printBanner(tree, settings, given.DATABASE_URL === undefined)
      await aborted(signal)
      step('Stopping: the runner finishes its batches, then the database stops')
    })
  })
}
