import type { Command } from 'commander'
import { requireNoMistakes } from './files/mistakes.js'
import { type Format, isData, printData } from './output/format.js'
import { hasChanges } from './plan/plan.js'
import { planToJson, printPlan } from './plan/print-plan.js'
import { readPlan } from './plan/read-plan.js'
import { allowEnvOption, readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { openServer } from './server/server.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly exitCode?: boolean
  readonly validate: boolean
  readonly allowEnv?: readonly string[]
}

/** As in Terraform and git: 1 is reserved for errors. */
const CHANGED = 2

export function addDiff(program: Command): void {
  readingCommand(program, {
    usage: 'diff <paths...>',
    description: 'Show what "apply" would change for these files and folders. Changes nothing.',
    examples: ['diff pipelines/', 'diff pipelines/ --exit-code --json'],
  })
    .option('--exit-code', 'exit code 2 if there are changes, else 0')
    .option('--no-validate', 'do not validate the changes on the server')
    .addOption(allowEnvOption())
    .action(diff)
}

async function diff(paths: string[], flags: Flags): Promise<void> {
  const { plan, mistakes } = await readPlan(() => openServer(flags), paths, flags)
  if (isData(flags)) printData(planToJson(plan), flags)
  else printPlan(plan, false)
  requireNoMistakes(mistakes)
  if (flags.exitCode && hasChanges(plan, false)) process.exitCode = CHANGED
}
