import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { LOGINS, loginPassword } from '../../src/model/logins.js'
import { runCommand } from '../support/commands.js'
import { aCountedMart, signatures, writesOf } from '../support/counted-mart.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { makeMemoryFolder } from '../support/memory-folder.js'
import { type PostgresServer, removePostgres, startPostgres } from '../support/postgres-server.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { withClient } from '../support/server.js'

const found = inject('tooOldPostgres')
const REFUSED = /The server runs PostgreSQL 13\.\d+\. Vitrina needs PostgreSQL 14 or newer\./

let server: PostgresServer | undefined
let home: string

beforeAll(async () => {
  if ('missing' in found) return
  home = makeMemoryFolder('vitrina-old').path
  server = await startPostgres({ home, bin: found.path })
})
afterAll(async () => {
  if (server === undefined) return
  await server.stop()
  await removePostgres(home)
})

/** An empty database on it, as an administrator's connection. */
async function anOldDatabase(): Promise<string> {
  const { url } = server!
  const name = `old_${randomBytes(4).toString('hex')}`
  await withClient(url, (client) => client.query(`CREATE DATABASE ${name}`))
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

describe('a server of PostgreSQL 13', { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    if ('missing' in found) skip(found.missing)
  })

  it('is rejected by migrate, up and doctor, and nothing is created in it', async () => {
    const url = await anOldDatabase()
    const cwd = await aFolder()
    for (const command of ['migrate', 'up']) {
      const refused = await runCommand([command], { DATABASE_URL: url, VITRINA_PORT: '0' }, { cwd })
      expect([command, refused.code]).toEqual([command, 1])
      expect(refused.stderr).toMatch(REFUSED)
      expect(refused.stderr).toContain('SERVER_TOO_OLD')
    }
    const doctor = await runCommand(['doctor'], { DATABASE_URL: url, VITRINA_PORT: '0' })
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toMatch(/^✗ version: The server runs PostgreSQL 13\..*\n {2}→ Upgrade the server/m)
    const { rows } = await withClient(url, (client) =>
      client.query("SELECT nspname FROM pg_namespace WHERE nspname = 'etl'"),
    )
    expect(rows).toEqual([])
  })

  it('is rejected as a named connection: by doctor, and by a run before it reads anything', async () => {
    const url = await anOldDatabase()
    const mart = await aCountedMart({ warehouse: true, rows: 20 })
    const env = { VITRINA_CONNECTION_WAREHOUSE_URL: url }
    const doctor = await runCommand(['doctor'], { DATABASE_URL: mart.main.url, VITRINA_PORT: '0', ...env })
    expect(doctor.code).toBe(1)
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

  it('is rejected by API and runner, whose meta store was restored there', async () => {
    const url = await anOldDatabase()
    await withClient(url, async (client) => {
      for (const login of ['meta', 'writer'] as const)
        await client.query(`CREATE ROLE ${LOGINS[login]} LOGIN PASSWORD '${loginPassword(url, login)}'`)
    })
    const cwd = await aFolder()
    for (const command of ['api', 'runner']) {
      const refused = await runCommand([command], { DATABASE_URL: url, VITRINA_PORT: '0' }, { cwd })
      expect([command, refused.code]).toEqual([command, 1])
      expect(refused.stderr).toMatch(REFUSED)
    }
  })
})

it('the server of this run has the requested version', async () => {
  const wanted = /^\d+$/.exec(process.env.VITRINA_TEST_POSTGRES || '18')?.[0]
  const database = await aDatabase({ migrated: false })
  const [row] = await database.query<{ server_version: string }>('SHOW server_version')
  expect(row!.server_version).toMatch(wanted === undefined ? /^\d+\./ : new RegExp(`^${wanted}\\.`))
})
