import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { freePorts } from '../support/ports.js'
import { spawnProgram, spawnVitrina } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

// Tokens that users choose may begin with a dash.
const TOKEN = '-token-that-is-long-enough'
const CHECKS = [
  ...['server', 'readiness', 'authentication', 'token', 'version', 'pipelines', 'validation', 'runners'],
  ...['metrics', 'console', 'round trip'],
]

interface Smoke {
  readonly code: number
  readonly output: string
  /** The mark of each check, by its name. */
  readonly marks: Readonly<Record<string, string>>
}

async function smoke(...args: string[]): Promise<Smoke> {
  const program = spawnProgram(['npm', 'run', '--silent', 'smoke', '--', ...args], {})
  const code = await program.exited
  const lines = program.stdout.matchAll(/^([✓✗–]) (.{15}) /gm)
  const marks = Object.fromEntries([...lines].map(([, mark, name]) => [name!.trim(), mark!]))
  return { code, output: program.stdout + program.stderr, marks }
}

/** Every check passed, except the given ones. */
function marksBut(exceptions: Record<string, string>): Record<string, string> {
  return { ...Object.fromEntries(CHECKS.map((name) => [name, '✓'])), ...exceptions }
}

const folders: string[] = []
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function start(command: 'up' | 'api', database: TestDatabase): Promise<string> {
  const env = { DATABASE_URL: database.url, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN, LOG_LEVEL: 'warn' }
  const cwd = await mkdtemp(join(tmpdir(), 'vitrina-smoke-'))
  folders.push(cwd)
  const program = spawnVitrina([command], env, { cwd })
  return (await program.waitForOutput(/console\s+(http\S+)\/ui\//, 120_000))[1]!
}

/** Everything that a check could leave behind. */
async function contentOf(database: TestDatabase): Promise<unknown> {
  return database.query(
    'SELECT (SELECT count(*) FROM etl.etl_pipelines), (SELECT count(*) FROM etl.etl_runs), (SELECT count(*) FROM etl.etl_audit), (SELECT count(*) FROM pg_class)',
  )
}

async function aServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Several processes for each test, on machines that may be busy. */
const TIMEOUT = { timeout: 180_000 }

describe('npm run smoke on a running installation', TIMEOUT, () => {
  let database: TestDatabase
  let url: string

  beforeAll(async () => {
    database = await aDatabase({ cinema: true })
    url = await start('up', database)
  }, 180_000)

  it('has nothing to validate before there is a pipeline, and --write deletes the one it creates', async () => {
    const write = () => smoke('--url', url, '--token', TOKEN, '--write')
    const first = await write()
    expect(first.marks, first.output).toEqual(marksBut({ validation: '–' }))
    expect(first.code).toBe(0)
    // As an interrupted check leaves it behind.
    await aPipeline(database, {
      name: 'smoke_test_mart',
      description: 'Created by npm run smoke -- --write. Deleted when the check ends.',
    })
    const second = await write()
    expect(second.code, second.output).toBe(0)
    expect(await database.query('SELECT FROM etl.etl_pipelines')).toEqual([])
    expect(await database.query('SELECT id, name FROM analytics.smoke_test_mart ORDER BY id')).toEqual([
      { id: 1, name: 'row 1' },
      { id: 2, name: 'row 2' },
      { id: 3, name: 'row 3' },
    ])
  })

  it('passes, and changes nothing', async () => {
    const { spec } = await aPipeline(database)
    const before = await contentOf(database)
    // As copied from the browser.
    const { code, marks, output } = await smoke('--url', `${url}/ui/`, '--token', TOKEN)
    expect(marks, output).toEqual(marksBut({ 'round trip': '–' }))
    expect(output).toMatch(/All 10 checks passed, 1 not run in \d/)
    expect(output).toContain(`"${spec.name}" is valid`)
    expect(code).toBe(0)
    expect(await contentOf(database)).toEqual(before)
  })

  it('--write does not change a pipeline of the same name that it did not create', async () => {
    const { id } = await aPipeline(database, { name: 'smoke_test_mart', description: 'mine' })
    const { code, marks, output } = await smoke('--url', url, '--token', TOKEN, '--write')
    expect(marks, output).toEqual(marksBut({ 'round trip': '✗' }))
    expect(code).toBe(1)
    expect(await database.query('SELECT FROM etl.etl_pipelines WHERE id = $1', [id])).toHaveLength(1)
  })

  it('fails on a wrong token, and skips what needs one', async () => {
    const { code, marks, output } = await smoke('--url', url, '--token', 'not-the-token-of-this-server')
    const skipped = ['version', 'pipelines', 'validation', 'runners', 'metrics', 'round trip']
    expect(marks, output).toEqual(
      marksBut({ token: '✗', ...Object.fromEntries(skipped.map((name) => [name, '–'])) }),
    )
    expect(output).toMatch(/rejects the token\.\n +→ .*api-token/)
    expect(code).toBe(1)
  })

  it('fails on an invalid pipeline, with the reason', async () => {
    const sourceQuery = 'SELECT id AS film_id FROM content.no_such_table'
    const { spec } = await aPipeline(database, { sourceQuery })
    const { code, marks, output } = await smoke('--url', url, '--token', TOKEN, '--pipeline', spec.name)
    expect(marks, output).toEqual(marksBut({ validation: '✗', 'round trip': '–' }))
    expect(output).toMatch(/is not valid: .*no_such_table/)
    expect(code).toBe(1)
  })

  it('--write fails with a token that may only read, and creates nothing', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'for the smoke test', role: 'viewer' })
    const made = await fetch(`${url}/api/v1/tokens`, { method: 'POST', headers, body })
    const { token } = (await made.json()) as { token: string }
    const before = await database.query('SELECT id FROM etl.etl_pipelines ORDER BY id')
    const { code, marks, output } = await smoke('--url', url, '--token', token, '--write')
    expect(marks['round trip'], output).toBe('✗')
    expect(output).toMatch(/role viewer/)
    expect(output).toMatch(/FORBIDDEN/)
    expect(code).toBe(1)
    expect(await database.query('SELECT id FROM etl.etl_pipelines ORDER BY id')).toEqual(before)
  })
})

describe('npm run smoke', TIMEOUT, () => {
  it('fails when no runner is alive', async () => {
    const url = await start('api', await aDatabase({ cinema: true }))
    const { code, marks, output } = await smoke('--url', url, '--token', TOKEN, '--write')
    expect(marks, output).toEqual(marksBut({ validation: '–', runners: '✗', 'round trip': '–' }))
    expect(output).toMatch(/No runner has reported.*\n +→ Start one with "vitrina runner"/)
    expect(code).toBe(1)
  })

  it('fails when the API has lost its database, and names the component that is down', async () => {
    const [database, other] = [await aDatabase(), await aDatabase()]
    const url = await start('api', database)
    const name = new URL(database.url).pathname.slice(1)
    await other.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`)
    await other.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
    await waitFor(async () => (await fetch(`${url}/health/ready`)).status === 503, {
      what: 'the API to notice',
    })
    const { code, marks, output } = await smoke('--url', url, '--token', TOKEN)
    expect(marks, output).toMatchObject({ server: '✓', readiness: '✗', console: '✓' })
    expect(output).toMatch(/The database is down/)
    expect(code).toBe(1)
  })

  it('fails when nothing responds, or something else does', async () => {
    const [port] = await freePorts(1)
    const silent = await smoke('--url', await aServer(() => {}), '--token', TOKEN, '--timeout', '0.5')
    expect(silent.output).toMatch(/✗ server .* did not respond within 0\.5 s/)
    const stranger = await aServer((_, reply) => reply.end('<h1>It works!</h1>'))
    const foreign = await smoke('--url', stranger, '--token', TOKEN)
    expect(foreign.output).toMatch(/✗ server .*not a Vitrina API/)
    const closed = await smoke('--url', `http://127.0.0.1:${port}`, '--token', TOKEN)
    expect(closed.output).toMatch(/✗ server .*cannot be reached: nothing listens there\.\n +→/)
    for (const { code, marks } of [silent, foreign, closed]) {
      expect(code).toBe(1)
      expect(marks).toEqual({ ...Object.fromEntries(CHECKS.map((name) => [name, '–'])), server: '✗' })
    }
  })

  it.each([
    [['--no-such-option'], /no-such-option/],
    [['--url', 'vitrina', '--token', TOKEN], /"vitrina" is not the address/],
    [['--url', 'http://vitrina.example'], /No token for http:\/\/vitrina\.example/],
    [['--token', TOKEN, '--timeout', 'soon'], /--timeout takes a number/],
  ])('reports invalid usage with exit code 2: %j', async (args, reason) => {
    const { code, output } = await smoke(...args)
    expect(output).toMatch(reason)
    expect(output).toMatch(/→ .*--help/)
    expect(code).toBe(2)
  })
})
