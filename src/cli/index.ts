import { CommanderError } from 'commander'
import { explain, WRONG_USAGE } from './output/print.js'
import { createProgram } from './program/program.js'

/** Runs one command. Returns the exit code: 0 success, 1 failure, 2 invalid usage. */
export async function run(argv: readonly string[]): Promise<number> {
  endQuietlyWithReader()
  try {
    await createProgram().parseAsync([...argv])
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (!(error instanceof CommanderError)) return explain(error)
    // commander has printed it already; --help and --version are not errors.
    return error.exitCode === 0 ? 0 : WRONG_USAGE
  }
}

/** `vitrina … | head` closes the pipe when it has read enough. That is not a failure. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}
