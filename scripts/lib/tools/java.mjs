import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from '../run.mjs'

const OLDEST = 17

/** The Java in PATH: where it is, and whether it has a compiler. Null if none of version 17 or newer is found. */
export async function findJava() {
  const { output } = await runQuietly('java', ['-XshowSettings:properties', '-version']).catch(() => ({
    output: '',
  }))
  const home = /java\.home = (.+)/.exec(output)?.[1]
  const version = Number(/java\.specification\.version = (\d+)/.exec(output)?.[1])
  if (home === undefined || !(version >= OLDEST)) return null
  return { home, hasCompiler: existsSync(join(home, 'bin/javac')) }
}
