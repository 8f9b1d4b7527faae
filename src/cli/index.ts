import { CommanderError } from 'commander'
import { explain, WRONG_USAGE } from './output.js'
import { createProgram } from './program.js'

/** Runs one command. Answers the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function run(argv: readonly string[]): Promise<number> {
  endQuietlyWithReader()
  try {
    await createProgram().parseAsync([...argv])
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (!(error instanceof CommanderError)) return explain(error)
    // commander has said it already; asking for help or the version is no mistake.
    return error.exitCode === 0 ? 0 : WRONG_USAGE
  }
}

/** `vitrina … | head` closes the pipe when it has seen enough. That is no failure. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}
