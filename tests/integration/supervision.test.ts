import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { removePostgres } from '../support/postgres-server.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { endSpawned, type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runEnded, type StoredRun } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const TOKEN = 'a-token-that-is-long-enough'

type Command = 'api' | 'runner'

function start(env: Record<string, string>, cwd: string): SpawnedVitrina {
  const settings = { VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN, RUNNER_POLL_INTERVAL_MS: '100' }
  return spawnVitrina(['up'], { ...settings, ...env }, { cwd })
}

const isUp = (vitrina: SpawnedVitrina) => vitrina.waitForOutput(/Ctrl-C stops everything/, 120_000)

async function up(env: Record<string, string>): Promise<SpawnedVitrina> {
  const vitrina = start(env, await aFolder())
  await isUp(vitrina)
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

/** The embedded server, and the process that stops it with its parent. */
function databaseOf({ pid }: SpawnedVitrina): { guard: number; postmaster: number } {
  const below = descendantsOf(pid)
  const guard = below.find(({ command }) => command.includes('guard.mjs'))!
  return { guard: guard.pid, postmaster: below.find(({ parent }) => parent === guard.pid)!.pid }
}

/** How often a part was reported as running again. */
function restartsIn({ stderr }: SpawnedVitrina, name: string): number {
  return [...stderr.matchAll(new RegExp(`The ${name}.* is running again`, 'g'))].length
}

async function expectNothingLeft(vitrina: SpawnedVitrina, pids: readonly number[]): Promise<void> {
  vitrina.kill('SIGINT')
  expect(await vitrina.exited).toBe(0)
  expect(pids.filter(isAlive)).toEqual([])
}

/** Kills every runner as soon as it works, until the tree ends. Returns every process that it had. */
async function killUntilItGivesUp(tree: SpawnedVitrina): Promise<ReadonlySet<number>> {
  await isUp(tree)
  const pids = new Set<number>()
  let over = false
  const ended = tree.exited.finally(() => {
    over = true
  })
  for (let restarts = 0; !over; restarts++) {
    await waitFor(async () => over || restartsIn(tree, 'runner') === restarts, { what: 'the next runner' })
    for (const { pid } of descendantsOf(tree.pid)) pids.add(pid)
    const victim = pidOf(tree, 'runner')
    if (victim !== 0) process.kill(victim, 'SIGKILL')
  }
  await ended
  return pids
}

/** Several processes for each test, on machines that may be busy. */
describe('vitrina up', { timeout: 180_000 }, () => {
  const folders: string[] = []
  let mortal: SpawnedVitrina
  let killedPids: ReturnType<typeof killUntilItGivesUp>
  let database: TestDatabase
  let continuing: SpawnedVitrina
  let continued: Promise<StoredRun>
  let mart: string

  /** Started before the other tests: these two wait half a minute for delays between restarts, and for leases. */
  beforeAll(async () => {
    for (const name of ['gives up', 'continues'])
      folders.push(await mkdtemp(join(tmpdir(), `vitrina ${name} `)))
    mortal = start({}, folders[0]!)
    killedPids = killUntilItGivesUp(mortal)
    database = await aDatabase({ cinema: true })
    const { id, spec } = await aPipeline(database, { batchSize: 10 })
    mart = spec.targetTable
    // Every runner is killed after its third batch, so that 71 rows take three of them.
    const failpoint = { VITRINA_FAILPOINT: 'batch.committed@3=kill', RUNNER_LEASE_SECONDS: '5' }
    continuing = start({ DATABASE_URL: database.url, ...failpoint }, folders[1]!)
    continued = runEnded(database, await requestRun(database, id), 150_000)
    // The tests below report a failure.
    for (const begun of [killedPids, continued]) begun.catch(() => {})
  })
  afterAll(async () => {
    await endSpawned()
    for (const folder of folders) await removePostgres(join(folder, '.vitrina'))
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })

  it('restarts API and runner when they are killed or exit with an error, and the rest keeps running', async () => {
    const database = await aDatabase({ cinema: true })
    const tree = await up({ DATABASE_URL: database.url })
    for (const [command, name] of [
      ['api', 'API'],
      ['runner', 'runner'],
    ] as const) {
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
    }
    const victim = pidOf(tree, 'runner')
    process.kill(victim, 'SIGTERM')
    await tree.waitForOutput(new RegExp(`process ${victim}\\) exited with code \\d+\\. Restarting`))
    await waitFor(async () => restartsIn(tree, 'runner') === 2, { what: 'the runner to run again' })
    await expectNothingLeft(tree, [victim, pidOf(tree, 'runner'), pidOf(tree, 'api')])
  })

  it('restarts its own database when the postmaster or the guard is killed, on the same port', async () => {
    const tree = await up({})
    for (const part of ['postmaster', 'guard'] as const) {
      const before = restartsIn(tree, 'embedded PostgreSQL')
      const victims = databaseOf(tree)
      process.kill(victims[part], 'SIGKILL')
      await waitFor(async () => restartsIn(tree, 'embedded PostgreSQL') > before, {
        what: 'the database to run again',
      })
      const deaths = tree.stderr.match(/The embedded PostgreSQL was killed by SIGKILL\. Restarting it/g)
      expect([part, deaths?.length]).toEqual([part, before + 1])
      const successor = databaseOf(tree)
      expect(successor.postmaster).not.toBe(victims.postmaster)
      await waitFor(async () => !isAlive(victims.postmaster), { what: 'the old server to be gone' })
      const ready = addressOf(tree).replace('/api/v1', '/health/ready')
      await waitFor(async () => (await get(ready)).status === 200, { what: 'the API to reach it' })
      expect((await get(`${addressOf(tree)}/pipelines`)).status).toBe(200)
    }
    // Neither API nor runner had to be restarted for that.
    expect(restartsIn(tree, 'API') + restartsIn(tree, 'runner')).toBe(0)
    const { postmaster, guard } = databaseOf(tree)
    await expectNothingLeft(tree, [postmaster, guard])
  })

  it('stops normally on request while a part is down', async () => {
    const tree = await up({})
    const below = descendantsOf(tree.pid).map(({ pid }) => pid)
    process.kill(pidOf(tree, 'runner'), 'SIGKILL')
    await tree.waitForOutput(/Restarting it in/)
    await expectNothingLeft(tree, below)
    expect(descendantsOf(tree.pid)).toEqual([])
  })

  it('R3.7 lets a run continue from its checkpoint after its runner was killed, as often as needed', async () => {
    const ended = await continued
    expect(ended).toMatchObject({ status: 'SUCCESS', batches: 8, rows_read: 71, rows_inserted: 71 })
    // More on a machine so busy that a live runner lost its lease.
    expect(ended.attempt).toBeGreaterThanOrEqual(3)
    expect(await database.query(`SELECT FROM ${mart}`)).toHaveLength(71)
    await waitFor(async () => restartsIn(continuing, 'runner') === 2, {
      what: 'both restarts to be reported',
    })
    await expectNothingLeft(continuing, [pidOf(continuing, 'runner'), pidOf(continuing, 'api')])
  })

  it('gives up after repeated deaths, and stops everything with an error', async () => {
    const pids = await killedPids
    expect(await mortal.exited).toBe(1)
    expect(mortal.stderr).toMatch(/restart 5 of 5/)
    expect(mortal.stderr).toMatch(/VTR-1010 PROCESS_FAILED: The runner exited 6 times/)
    // API, runners, guard, and the server with its helpers.
    expect(pids.size).toBeGreaterThan(8)
    expect([...pids].filter(isAlive)).toEqual([])
  })

  it('neither starts nor restarts anything when the chosen port is in use', async () => {
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
