import { afterAll } from 'vitest'
import { closeAllOfFile } from './close-at-end.js'
import { endCommandHost } from './commands.js'
import { keptProcesses } from './kept-processes.js'
import { descendantsOf, processesWith } from './proc.js'
import { endSpawned, MARK } from './processes.js'
import { waitFor } from './wait.js'

/*
 * In every test file, before anything else of it. Hooks run last in, first out, so this one comes after all of the
 * file's own and sees what they left: connections (database.ts checks when it drops), and processes.
 */
afterAll(async () => {
  await endCommandHost()
  await endSpawned()
  await closeAllOfFile()
  await waitUntilChildless()
})

async function waitUntilChildless(): Promise<void> {
  let left: string[] = []
  const childless = async () => {
    const kept = keptProcesses()
    const found = [...descendantsOf(process.pid), ...processesWith(MARK.variable, MARK.value)]
    left = found.filter(({ pid }) => !kept.has(pid)).map(({ pid, command }) => `${pid} (${command})`)
    return left.length === 0
  }
  await waitFor(childless, { what: 'child processes to end', timeoutMs: 5_000 }).catch(() => {
    throw new Error(`the test file left processes running: ${left.join(', ')}`)
  })
}
