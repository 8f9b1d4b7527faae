import { Command, CommanderError } from 'commander'
import { VERSION } from '../main/paths.js'
import { addApi } from './api.js'
import { addDemo } from './demo.js'
import { addDoctor } from './doctor.js'
import { addGenerate } from './generate.js'
import { addMigrate } from './migrate.js'
import { explain } from './output.js'
import { addRunner } from './runner.js'
import { addUp } from './up.js'

const WRONG_USAGE = 2

/** Runs one command. Answers the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync([...argv])
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (!(error instanceof CommanderError)) return explain(error)
    // commander has said it already; asking for help or the version is no mistake.
    return error.exitCode === 0 ? 0 : WRONG_USAGE
  }
}

function createProgram(): Command {
  const program = new Command('vitrina')
    .description('Configuration-driven ETL: marts in PostgreSQL and beyond.')
    .version(VERSION)
    .showHelpAfterError('(vitrina --help shows every command)')
    .exitOverride()
    .addHelpText(
      'after',
      '\nSettings come from the environment and from .env; docs/reference/settings.md lists them.',
    )
  for (const add of [addUp, addApi, addRunner, addMigrate, addDoctor, addGenerate, addDemo]) add(program)
  return program
}
