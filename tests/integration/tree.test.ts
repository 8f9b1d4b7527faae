import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../support/commands.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const TOKEN = 'a-token-that-is-long-enough'

function addressOf(vitrina: SpawnedVitrina): string {
  return /API\s+(http:\S+)/.exec(vitrina.stdout)?.[1] ?? ''
}

async function get(url: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })
}

/** A signal reaches one process; everything below it must be gone some time later. */
async function expectAllGone(pids: readonly number[]): Promise<void> {
  await waitFor(async () => pids.every((pid) => !isAlive(pid)), {
    what: `processes ${pids.join(', ')} to end`,
  })
}

describe('vitrina up', () => {
  it('runs API and runner as separate processes, without the password of the administrator; a second one uses the next port and stops at once at the second Ctrl-C', async () => {
    const database = await aDatabase()
    const up = spawnVitrina(
      ['up'],
      { DATABASE_URL: database.url, VITRINA_API_TOKEN: TOKEN },
      { cwd: await aFolder() },
    )
    await up.waitForOutput(/Ctrl-C stops everything/)
    expect(
      descendantsOf(up.pid)
        .map(({ command }) => command.split(' ').at(-1))
        .sort(),
    ).toEqual(['api', 'runner'])
    const response = await get(`${addressOf(up)}/pipelines`)
    expect(response.status).toBe(200)
    const sessions = await database.query<{ usename: string }>(
      "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'vitrina') ORDER BY 1",
    )
    expect(sessions.map(({ usename }) => usename)).toEqual(
      expect.arrayContaining(['vitrina_meta', 'vitrina_writer']),
    )
    expect(sessions.map(({ usename }) => usename)).not.toContain(new URL(database.url).username)
    await expectAnotherPort(database, up)
    up.kill('SIGINT')
    expect(await up.exited).toBe(0)
  })

  it('starts its own database in a path with spaces, and leaves nothing running when it is killed or after Ctrl-C', async () => {
    const folder = await aFolder()
    const first = spawnVitrina(['up'], { VITRINA_PORT: '0' }, { cwd: folder })
    // The banner may arrive in several pieces.
    await first.waitForOutput(/Vitrina is up[\s\S]*token\s+vtr_[\w-]{32}\s/)
    const { mode } = await stat(join(folder, '.vitrina/api-token'))
    expect(mode & 0o777).toBe(0o600)
    const killed = descendantsOf(first.pid).map(({ pid }) => pid)
    expect(killed.length).toBeGreaterThan(3)
    first.kill('SIGKILL')
    await expectAllGone(killed)
    const second = spawnVitrina(['up'], { VITRINA_PORT: '0' }, { cwd: folder })
    await second.waitForOutput(/Vitrina is up\.[\s\S]*token\s+in .*api-token/)
    const below = descendantsOf(second.pid).map(({ pid }) => pid)
    expect(below.length).toBeGreaterThan(3)
    second.kill('SIGINT')
    expect(await second.exited).toBe(0)
    expect(below.filter(isAlive)).toEqual([])
  })

  /** A second one on the same database uses the next port, and stops at once when Ctrl-C is pressed a second time. */
  async function expectAnotherPort(database: TestDatabase, first: SpawnedVitrina): Promise<void> {
    const second = spawnVitrina(['up'], { DATABASE_URL: database.url }, { cwd: await aFolder() })
    await second.waitForOutput(/Ctrl-C stops everything/)
    expect(addressOf(second)).not.toBe(addressOf(first))
    expect(second.stderr).toMatch(/Port \d+ is in use/)
    const below = descendantsOf(second.pid)
    // A part that hangs: it does not receive the request to stop.
    for (const { pid } of below) process.kill(pid, 'SIGSTOP')
    second.kill('SIGINT')
    const impatient = setInterval(() => second.kill('SIGINT'), 100)
    expect(await second.exited).toBe(130)
    clearInterval(impatient)
    await expectAllGone(below.map(({ pid }) => pid))
  }
})

describe('api and runner started separately', () => {
  it('meet in the database', async () => {
    const [folder, database] = [await aFolder(), await aDatabase()]
    const env = { DATABASE_URL: database.url, VITRINA_API_TOKEN: TOKEN, VITRINA_PORT: '0' }
    const api = spawnVitrina(['api'], env, { cwd: folder })
    await api.waitForOutput(/API\s+http/)
    const runner = spawnVitrina(['runner'], env, { cwd: folder })
    await waitFor(async () => (await database.query('SELECT FROM etl.etl_runners')).length === 1, {
      what: 'a heartbeat of the runner',
    })
    expect((await get(`${addressOf(api)}/pipelines`)).status).toBe(200)
    for (const part of [api, runner]) {
      part.kill('SIGTERM')
      expect(await part.exited).toBe(0)
    }
  })

  it('explain how to start without a database', async () => {
    const folder = await aFolder()
    for (const part of ['api', 'runner']) {
      const alone = spawnVitrina([part], {}, { cwd: folder })
      expect(await alone.exited).toBe(1)
      expect(alone.stderr).toMatch(/DATABASE_URL.*\n.*vitrina up/)
    }
  })

  it('do not start on a database that is not migrated', async () => {
    const database = await aDatabase({ migrated: false })
    const api = await runCommand(
      ['api'],
      { VITRINA_API_DATABASE_URL: database.url, VITRINA_PORT: '0' },
      { cwd: await aFolder() },
    )
    expect(api.code).toBe(1)
    expect(api.stderr).toMatch(/VTR-1006 MIGRATION_MISSING.*\n.*vitrina migrate/)
  })
})
