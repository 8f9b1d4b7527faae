import { readdirSync, readFileSync } from 'node:fs'
import { afterAll } from 'vitest'
import { dropLiving } from './database.js'
import { endSpawned } from './processes.js'
import { waitFor } from './wait.js'

/*
 * In every test file, before anything else of it. Hooks run last in, first out, so this one comes after all of the
 * file's own and sees what they left: connections (database.ts looks when it drops), and processes.
 */
afterAll(async () => {
  await endSpawned()
  await dropLiving()
  await waitUntilChildless()
})

async function waitUntilChildless(): Promise<void> {
  if (process.platform !== 'linux') return
  let left: string[] = []
  const childless = async () => {
    left = childrenOf(process.pid)
    return left.length === 0
  }
  await waitFor(childless, { what: 'child processes to end', timeoutMs: 5_000 }).catch(() => {
    throw new Error(`the test file left processes running: ${left.join(', ')}`)
  })
}

function childrenOf(parent: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const stat = read(`/proc/${pid}/stat`)
      // The name in parentheses may itself hold spaces and parentheses, so count from the last one.
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(ppid) !== parent || state === 'Z') return []
      return [`${pid} (${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()})`]
    })
}

/** Empty for a process that ended while we looked. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
