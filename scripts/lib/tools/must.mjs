import { runQuietly } from '../run.mjs'

/** Runs a program; an error carries the last line that it printed. */
export async function must(file, args, options = {}) {
  const { code, output } = await runQuietly(file, args, options).catch((error) => ({
    code: -1,
    output: error.message,
  }))
  if (code === 0) return
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('npm warn'))
  throw new Error(`${file} failed: ${lines.at(-1)?.trim() ?? `exit code ${code}`}`)
}
