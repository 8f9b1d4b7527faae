import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answerTo, shows } from '../support/document-blocks.js'
import { aFolder } from '../support/folders.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { spawnProgram } from '../support/processes.js'
import { someOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

/** What receives it: npm alone, or its whole process group, as with Ctrl-C in a terminal. */
const ENDS = [
  { signal: 'SIGKILL', to: 'npm' },
  { signal: 'SIGTERM', to: 'npm' },
  { signal: 'SIGINT', to: 'the whole group' },
] as const

describe('npm run demo', () => {
  it.each(someOf(ENDS, 1, ({ signal }) => `npm ${signal}`))(
    'leaves nothing running when $to gets $signal',
    async ({ signal, to }) => {
      const home = join(await aFolder(), '.vitrina')
      const npm = spawnProgram(['npm', 'run', 'demo'], { VITRINA_HOME: home }, { ownGroup: true })
      await npm.waitForOutput(/Ctrl-C/)
      expect(shows(answerTo('docs/demo.md', 'npm run demo'), npm.stdout), `R7.7 ${npm.stdout}`).toBe(true)
      const below = descendantsOf(npm.pid).map(({ pid }) => pid)
      expect(below.length).toBeGreaterThan(4)
      process.kill(to === 'npm' ? npm.pid : -npm.pid, signal)
      await waitFor(async () => below.every((pid) => !isAlive(pid)), { what: 'everything below npm to end' })
    },
  )
})
