import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const TOKEN = 'a-token-that-is-long-enough'

type Command = 'api' | 'runner'

async function up(env: Record<string, string>): Promise<SpawnedVitrina> {
  const vitrina = spawnVitrina(
    ['up'],
    { VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN, RUNNER_POLL_INTERVAL_MS: '100', ...env },
    { cwd: await aFolder() },
  )
  await vitrina.waitForOutput(/Vitrina is up/, 120_000)
  return vitrina
}

function addressOf({ stdout }: SpawnedVitrina): string {
  return /API\s+(http:\S+)/.exec(stdout)?.[1] ?? ''
}

async function get(url: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })
}

function pidOf({ pid }: SpawnedVitrina, command: Command): number {
  return descendantsOf(pid).find((one) => one.command.endsWith(` ${command}`))?.pid ?? 0
}

/** The embedded server, and the process that ends it with its parent. */
function databaseOf({ pid }: SpawnedVitrina): { guard: number; postmaster: number } {
  const below = descendantsOf(pid)
  const guard = below.find(({ command }) => command.includes('guard.mjs'))!
  return { guard: guard.pid, postmaster: below.find(({ parent }) => parent === guard.pid)!.pid }
}

/** How often it reported that a part runs again. */
function restartsIn({ stderr }: SpawnedVitrina, name: string): number {
  return [...stderr.matchAll(new RegExp(`The ${name}.* is running again`, 'g'))].length
}

async function expectNothingLeft(vitrina: SpawnedVitrina, pids: readonly number[]): Promise<void> {
  vitrina.kill('SIGINT')
  expect(await vitrina.exited).toBe(0)
  expect(pids.filter(isAlive)).toEqual([])
}

/** Several processes for each test, on machines that may be busy. */
describe('vitrina up', { timeout: 180_000 }, () => {
  it.each([
    ['api', 'API'],
    ['runner', 'runner'],
  ] as const)('restarts the %s when it is killed, and the rest keeps running', async (command, name) => {
    const database = await aDatabase({ cinema: true })
    const tree = await up({ DATABASE_URL: database.url })
    const victim = pidOf(tree, command)
    const others = descendantsOf(tree.pid).filter(({ pid }) => pid !== victim)
    process.kill(victim, 'SIGKILL')
    await tree.waitForOutput(
      new RegExp(`The ${name} \\(process ${victim}\\) was killed by SIGKILL\\. Restarting it in 0\\.5 s`),
    )
    await tree.waitForOutput(new RegExp(`The ${name} \\(process \\d+\\) is running again\\.`))
    const successor = pidOf(tree, command)
    expect(successor).not.toBe(victim)
    expect(tree.stderr).toContain(`The ${name} (process ${successor}) is running again.`)
    expect(others.every(({ pid }) => isAlive(pid))).toBe(true)
    // The same address, although the system chose the port.
    expect((await get(`${addressOf(tree)}/pipelines`)).status).toBe(200)
    const { id } = await aPipeline(database)
    expect(await runEnded(database, await requestRun(database, id))).toMatchObject({ status: 'SUCCESS' })
    await expectNothingLeft(tree, [successor, ...others.map(({ pid }) => pid)])
  })

  it('restarts a part that ends with an error, not only one that is killed', async () => {
    const tree = await up({ DATABASE_URL: (await aDatabase()).url })
    const victim = pidOf(tree, 'runner')
    process.kill(victim, 'SIGTERM')
    await tree.waitForOutput(new RegExp(`process ${victim}\\) ended with code \\d+\\. Restarting`))
    await waitFor(async () => restartsIn(tree, 'runner') === 1, { what: 'the runner to run again' })
    await expectNothingLeft(tree, [pidOf(tree, 'runner'), pidOf(tree, 'api')])
  })

  it.each(['postmaster', 'guard'] as const)(
    'restarts its own database when the %s is killed, on the same port',
    async (part) => {
      const tree = await up({})
      const victims = databaseOf(tree)
      process.kill(victims[part], 'SIGKILL')
      await tree.waitForOutput(/The embedded PostgreSQL was killed by SIGKILL\. Restarting it/)
      await tree.waitForOutput(/The embedded PostgreSQL is running again\./)
      const successor = databaseOf(tree)
      expect(successor.postmaster).not.toBe(victims.postmaster)
      await waitFor(async () => !isAlive(victims.postmaster), { what: 'the old server to be gone' })
      const ready = addressOf(tree).replace('/api/v1', '/health/ready')
      await waitFor(async () => (await get(ready)).status === 200, { what: 'the API to reach it' })
      expect((await get(`${addressOf(tree)}/pipelines`)).status).toBe(200)
      // Neither API nor runner had to be restarted for that.
      expect(restartsIn(tree, 'API') + restartsIn(tree, 'runner')).toBe(0)
      await expectNothingLeft(tree, [successor.postmaster, successor.guard])
    },
  )

  it('R3.7 lets a run continue from its checkpoint after its runner was killed, as often as needed', async () => {
    const database = await aDatabase({ cinema: true })
    const { id, spec } = await aPipeline(database, { batchSize: 10 })
    // Every runner is killed after its third batch, so that 71 rows take three of them.
    const failpoint = { VITRINA_FAILPOINT: 'batch.committed@3=kill', RUNNER_LEASE_SECONDS: '5' }
    const tree = await up({ DATABASE_URL: database.url, ...failpoint })
    const ended = await runEnded(database, await requestRun(database, id), 150_000)
    expect(ended).toMatchObject({ status: 'SUCCESS', batches: 8, rows_read: 71, rows_inserted: 71 })
    // More on a machine so busy that a living runner lost its lease.
    expect(ended.attempt).toBeGreaterThanOrEqual(3)
    expect(await database.query(`SELECT FROM ${spec.targetTable}`)).toHaveLength(71)
    await waitFor(async () => restartsIn(tree, 'runner') === 2, { what: 'both restarts to be reported' })
  })

  it('gives up after repeated deaths, and ends everything with an error', async () => {
    const tree = await up({})
    const seen = new Set(descendantsOf(tree.pid).map(({ pid }) => pid))
    let over = false
    const ended = tree.exited.finally(() => {
      over = true
    })
    while (!over) {
      const victim = pidOf(tree, 'runner')
      for (const { pid } of descendantsOf(tree.pid)) seen.add(pid)
      if (victim !== 0) process.kill(victim, 'SIGKILL')
      await waitFor(async () => over || ![0, victim].includes(pidOf(tree, 'runner')), {
        what: 'the next runner',
      })
    }
    expect(await ended).toBe(1)
    expect(tree.stderr).toMatch(/restart 5 of 5/)
    expect(tree.stderr).toMatch(/VTR-1010 PROCESS_FAILED: The runner ended 6 times/)
    expect([...seen].filter(isAlive)).toEqual([])
  })

  it('ends in order when it is told to while a part is down', async () => {
    const tree = await up({})
    const below = descendantsOf(tree.pid).map(({ pid }) => pid)
    process.kill(pidOf(tree, 'runner'), 'SIGKILL')
    await tree.waitForOutput(/Restarting it in/)
    await expectNothingLeft(tree, below)
    expect(descendantsOf(tree.pid)).toEqual([])
  })

  it('does not start, and restarts nothing, when the chosen port is taken', async () => {
    const [port] = await freePorts(1)
    const other = createServer()
    onTestFinished(() => void other.close())
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
    const env = { DATABASE_URL: (await aDatabase()).url, VITRINA_PORT: String(port) }
    const tree = spawnVitrina(['up'], env, { cwd: await aFolder() })
    expect(await tree.exited).toBe(1)
    expect(tree.stderr.match(/VTR-\d+/g)).toEqual(['VTR-1004'])
    expect(tree.stderr).toMatch(/PORT_TAKEN.*\n.*VITRINA_PORT/)
    expect(tree.stderr).not.toMatch(/Restarting/)
  })
})
