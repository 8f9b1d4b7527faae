import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { LOGINS, loginPassword } from '../../src/model/logins.js'
import { aCountedMart, signatures, writesOf } from '../support/counted-mart.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { removePostgres, startPostgres } from '../support/postgres-server.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { withClient } from '../support/server.js'

const found = inject('tooOldPostgres')
const REFUSED = /The server runs PostgreSQL 13\.\d+\. Vitrina needs PostgreSQL 14 or newer\./

async function anOldServer(): Promise<string> {
  if ('missing' in found) return expect.fail(found.missing)
  const home = await mkdtemp(join(tmpdir(), 'vitrina-old-'))
  const server = await startPostgres({ home, bin: found.path })
  onTestFinished(async () => {
    await server.stop()
    await removePostgres(home)
  })
  return server.url
}

describe('a server of PostgreSQL 13', { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    if ('missing' in found) skip(found.missing)
  })

  it('is refused by migrate, up and doctor, and nothing is created in it', async () => {
    const url = await anOldServer()
    for (const command of ['migrate', 'up']) {
      const refused = spawnVitrina(
        [command],
        { DATABASE_URL: url, VITRINA_PORT: '0' },
        { cwd: await aFolder() },
      )
      expect([command, await refused.exited]).toEqual([command, 1])
      expect(refused.stderr).toMatch(REFUSED)
      expect(refused.stderr).toContain('SERVER_TOO_OLD')
    }
    const doctor = spawnVitrina(['doctor'], { DATABASE_URL: url, VITRINA_PORT: '0' })
    expect(await doctor.exited).toBe(1)
    expect(doctor.stdout).toMatch(/^✗ version: The server runs PostgreSQL 13\..*\n {2}→ Upgrade the server/m)
    const { rows } = await withClient(url, (client) =>
      client.query("SELECT nspname FROM pg_namespace WHERE nspname = 'etl'"),
    )
    expect(rows).toEqual([])
  })

  it('is refused as a named connection: by doctor, and by a run before it reads anything', async () => {
    const url = await anOldServer()
    const mart = await aCountedMart({ warehouse: true, rows: 20 })
    const env = { VITRINA_CONNECTION_WAREHOUSE_URL: url }
    const doctor = spawnVitrina(['doctor'], { DATABASE_URL: mart.main.url, VITRINA_PORT: '0', ...env })
    expect(await doctor.exited).toBe(1)
    expect(doctor.stdout).toMatch(/^✗ connection warehouse: The server runs PostgreSQL 13\./m)
    await aRunner(mart.main, { env })
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({
      status: 'FAILED',
      attempt: 1,
      error: expect.stringMatching(REFUSED),
      error_code: vtr('SERVER_TOO_OLD'),
      rows_read: 0,
    })
    await withClient(url, async (client) => {
      const { rows } = await client.query("SELECT FROM pg_tables WHERE schemaname IN ('etl', 'analytics')")
      expect(rows).toEqual([])
    })
    expect(await writesOf(mart)).toEqual({ writes: 0, keys: 0 })
    expect((await signatures(mart)).mart).toMatch(/^0 /)
  })

  it('is refused by API and runner, whose meta store was restored there', async () => {
    const url = await anOldServer()
    await withClient(url, async (client) => {
      for (const login of ['meta', 'writer'] as const)
        await client.query(`CREATE ROLE ${LOGINS[login]} LOGIN PASSWORD '${loginPassword(url, login)}'`)
    })
    for (const command of ['api', 'runner']) {
      const refused = spawnVitrina(
        [command],
        { DATABASE_URL: url, VITRINA_PORT: '0' },
        { cwd: await aFolder() },
      )
      expect([command, await refused.exited]).toEqual([command, 1])
      expect(refused.stderr).toMatch(REFUSED)
    }
  })
})

it('the server of this run is the version that was asked for', async () => {
  const wanted = /^\d+$/.exec(process.env.VITRINA_TEST_POSTGRES || '18')?.[0]
  const database = await aDatabase({ migrated: false })
  const [row] = await database.query<{ server_version: string }>('SHOW server_version')
  expect(row!.server_version).toMatch(wanted === undefined ? /^\d+\./ : new RegExp(`^${wanted}\\.`))
})
