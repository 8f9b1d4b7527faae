/** Entry point of a process with TypeScript functions. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { register } from 'node:module'

const here = (path) => new URL(path, import.meta.url)
const { runWatchedThread } = await import(hostModule().href)
runWatchedThread(JSON.parse(process.argv[2]))

/**
 * Tests run from src/, where no compiled module is next to this file. They use the build when it is newer than its
 * sources: a host that removes the types of its own modules takes 0.6 s of CPU time to start instead of 0.25 s.
 */
function hostModule() {
  const compiled = here('./watched-thread.js')
  if (existsSync(compiled)) return compiled
  const built = here('../../../dist/transforms/typescript/watched-thread.js')
  if (existsSync(built) && isCurrent()) return built
  register('./hooks.mjs', import.meta.url, { data: { task: here('./task.ts').href } })
  return here('./watched-thread.ts')
}

/** Only the rooms that a host loads modules from. */
function isCurrent() {
  const stamp = statSync(here('../../../dist/.built.json'), { throwIfNoEntry: false })
  const sources = ['../../model/', '../../sql/', '../'].flatMap((room) =>
    readdirSync(here(room), { recursive: true })
      .filter((name) => !name.endsWith('.test.ts'))
      .map((name) => statSync(here(room + name))),
  )
  return stamp !== undefined && sources.every(({ mtimeMs }) => mtimeMs < stamp.mtimeMs)
}
