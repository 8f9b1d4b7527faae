import { execFileSync } from 'node:child_process'
import dns from 'node:dns/promises'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readSettings } from '../../src/config/settings.js'
import { createChannels } from '../../src/main/notifications.js'
import { resolveAllowed } from '../../src/notify/allowed-host.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { SECRET } from '../support/notifications.js'
import { ROOT, spawnVitrina } from '../support/processes.js'
import { codeIn } from '../support/prose.js'
import { anHttpReceiver, anSmtpReceiver } from '../support/receivers.js'
import { requestRun } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

/** Sentences of SECURITY.md that no other test would miss. */

it.each(['etl.*', 'analytics.*,etl.etl_state', '"etl".x'])(
  'the tables of Vitrina cannot be targets: %s',
  (tables) => {
    expect(() => readSettings({ ALLOWED_TARGET_TABLES: tables })).toThrow(
      /^ALLOWED_TARGET_TABLES must not contain/,
    )
  },
)

describe('the audit', () => {
  it.each(['meta', 'writer', 'reader'] as const)('cannot be rewritten by the login %s', async (login) => {
    const database = await aDatabase()
    const client = await database.client(database.loginUrl(login))
    // The sessions of the reader start read-only; nothing keeps it from ending that.
    await client.query('SET default_transaction_read_only = off')
    for (const statement of [
      "UPDATE etl.etl_audit SET actor = 'x'",
      'DELETE FROM etl.etl_audit',
      'TRUNCATE etl.etl_audit',
      'ALTER TABLE etl.etl_audit DISABLE TRIGGER ALL',
    ])
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' })
  })
})

describe('API and runner', () => {
  it('never use the login of the administrator, and the runner listens on no port', async (context) => {
    const database = await aDatabase({ cinema: true })
    const { id } = await aPipeline(database)
    const administrator = decodeURIComponent(new URL(database.url).username)
    const env = { DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '100' }
    const cwd = await aFolder()
    const api = spawnVitrina(['api'], { ...env, VITRINA_PORT: '0' }, { cwd })
    const runner = spawnVitrina(['runner'], env, { cwd })
    await api.waitForOutput(/API\s+http/)
    await requestRun(database, id)
    const logins = new Set<string>()
    await waitFor(
      async () => {
        const sessions = await database.query<{ usename: string }>(
          `SELECT usename FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'vitrina%' AND application_name <> 'vitrina-test'`,
        )
        for (const { usename } of sessions) logins.add(usename)
        const runs = await database.query<{ status: string }>('SELECT status FROM etl.etl_runs')
        return runs[0]?.status === 'SUCCESS'
      },
      { what: 'a run to succeed' },
    )
    expect([...logins].sort()).toEqual(expect.arrayContaining(['vitrina_meta', 'vitrina_writer']))
    expect([...logins]).not.toContain(administrator)
    if (process.platform !== 'linux') return context.skip('sockets are listed in /proc')
    expect(listening(api.pid)).toHaveLength(1)
    expect(listening(runner.pid)).toEqual([])
  })
})

/** The addresses that a process listens on, as the kernel writes them. */
function listening(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`)
      } catch {
        return ''
      }
    }),
  )
  return ['tcp', 'tcp6']
    .flatMap((kind) => readFileSync(`/proc/net/${kind}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '0A' && own.has(`socket:[${inode}]`))
    .map(([, address]) => address!)
}

describe('the name of a receiver', () => {
  /** No resolver knows a name that ends in .invalid: a second look-up would fail. */
  const NAME = 'receiver.invalid'

  function resolvesTo(...addresses: readonly string[]) {
    const lookup = vi.spyOn(dns, 'lookup')
    lookup.mockResolvedValue(addresses.map((address) => ({ address, family: 4 })) as never)
    syncBuiltinESMExports()
    onTestFinished(() => {
      lookup.mockRestore()
      syncBuiltinESMExports()
    })
    return lookup
  }

  const send = (channel: object, allowed: string | null) =>
    createChannels(
      readSettings({
        VITRINA_CHANNELS: JSON.stringify({ hook: channel }),
        ...(allowed === null ? {} : { VITRINA_NOTIFY_ALLOWED_HOSTS: allowed }),
      }),
    ).send({
      ...{
        id: 'm1',
        ruleName: 'r',
        channel: 'hook',
        event: 'failed',
        key: 'X',
        createdAt: '2026-01-01T00:00:00Z',
      },
      events: [],
    })

  it('is looked up once, and the connection goes to the address that was checked', async () => {
    const receiver = await anHttpReceiver()
    const mail = await anSmtpReceiver()
    const lookup = resolvesTo('127.0.0.1')
    const { port } = new URL(receiver.url)
    await send({ type: 'webhook', url: `http://${NAME}:${port}/`, secret: SECRET }, NAME)
    expect([lookup.mock.calls.length, receiver.posts[0]?.headers.host]).toEqual([1, `${NAME}:${port}`])
    const from = { from: 'a@example.com', to: 'b@example.com' }
    await send({ type: 'email', url: `smtp://${NAME}:${mail.port}`, ...from }, NAME)
    expect([lookup.mock.calls.length, mail.mails.length]).toEqual([2, 1])
  })

  it.each([
    ['a private address', ['10.0.0.1'], null],
    ['this machine', ['127.0.0.1'], null],
    ['a public and a private address', ['93.184.216.34', '192.168.0.1'], null],
    ['metadata, although the name is listed', ['93.184.216.34', '169.254.169.254'], NAME],
  ])('is refused if it leads to %s at the time of the connection', async (_, addresses, allowed) => {
    resolvesTo(...addresses)
    await expect(
      send({ type: 'webhook', url: `http://${NAME}/`, secret: SECRET }, allowed),
    ).rejects.toMatchObject({ code: 'CHANNEL_REFUSED' })
  })

  it('is looked up within the time limit of the message', async () => {
    const lookup = resolvesTo()
    lookup.mockReturnValue(new Promise(() => {}) as never)
    await expect(resolveAllowed(NAME, null, AbortSignal.timeout(10))).rejects.toMatchObject({
      code: 'CHANNEL_FAILED',
      message: `The host ${NAME} could not be resolved (no response).`,
    })
  })
})

describe('npm run test:security', () => {
  const [, ...named] = manifest.scripts['test:security'].split('--no-check ')
  const paths = named.join(' ').split(' ')

  it('runs every test that SECURITY.md and the security model name', () => {
    const proofs = ['SECURITY.md', 'docs/security-model.md']
      .flatMap(codeIn)
      .filter((code) => code.endsWith('.test.ts'))
    expect(proofs.length).toBeGreaterThan(100)
    const isRun = (proof: string) => paths.some((path) => proof === path || proof.startsWith(`${path}/`))
    expect(proofs.filter((proof) => !isRun(proof))).toEqual([])
  })

  it('names tests that exist', () => {
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

it('git ignores .env and .vitrina', () => {
  const ignored = execFileSync('git', ['check-ignore', '.env', 'deploy/.env', '.vitrina/api-token'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(ignored.trim().split('\n')).toEqual(['.env', 'deploy/.env', '.vitrina/api-token'])
})
