import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import {
  type Image,
  layOut,
  ROOT,
  readCompose,
  readImage,
  readUnit,
  type Service,
} from '../support/deployment.js'
import { type SpawnedVitrina, spawnProgram } from '../support/processes.js'
import { requestRun, runEnded } from '../support/runs.js'

/** What somebody fills into deploy/.env. */
const SECRETS = { POSTGRES_PASSWORD: 'hunter2hunter2', VITRINA_API_TOKEN: 'a-token-of-the-stand' }
const OURS = ['etl_migrate', 'etl_api', 'etl_runner']

let image: Image
let app: string
beforeAll(() => {
  image = readImage()
  app = mkdtempSync(join(tmpdir(), 'vitrina-image-'))
  chmodSync(app, 0o755)
  layOut(image, app)
  // What the compose file mounts.
  mkdirSync(join(app, 'pipelines/python'), { recursive: true })
  writeFileSync(
    join(app, 'pipelines/python/films.py'),
    'from vitrina import task\n\n@task("shout")\ndef shout(rows):\n    return [{**row, "title": row["title"].upper()} for row in rows]\n',
  )
  execFileSync('chmod', ['-R', 'a+rX,a-w', app])
})
afterAll(() => {
  if (app === undefined) return
  execFileSync('chmod', ['-R', 'u+w', app])
  rmSync(app, { recursive: true, force: true })
})

/** Root becomes the user of the image; everybody else is one without rights already. */
const asUser = () => (process.getuid?.() === 0 ? { user: image.user } : {})

/** A command of the image, in its read-only folder. Only names and ports of the network are other ones than there. */
function start(command: readonly string[], env: Readonly<Record<string, string>>): SpawnedVitrina {
  const [program = '', ...args] = command
  const node = program === 'node' ? process.execPath : program
  return spawnProgram([node, ...args], { ...image.env, HOME: '/nowhere', ...env }, { cwd: app, ...asUser() })
}

/** Settings of a service as the compose file gives them, and where its servers are in this test. */
function settingsOf(service: string, database: TestDatabase): Record<string, string> {
  const { environment = {} } = readCompose(SECRETS).services[service]!
  return {
    ...environment,
    DATABASE_URL: database.url,
    VITRINA_HOST: '127.0.0.1',
    VITRINA_PORT: '0',
    RUNNER_METRICS_HOST: '127.0.0.1',
    RUNNER_METRICS_PORT: '0',
  }
}

function commandOf(service: string): string[] {
  return [...image.entrypoint, ...(readCompose(SECRETS).services[service]!.command ?? [])]
}

async function expectDone(program: SpawnedVitrina): Promise<void> {
  expect(await program.exited, program.stdout + program.stderr).toBe(0)
}

async function stop(program: SpawnedVitrina): Promise<void> {
  program.kill('SIGTERM')
  await expectDone(program)
}

function userOf(pid: number): string {
  return /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? ''
}

describe('R7.3 the containers of the stand, as processes', () => {
  it('migrate, serve, run a task plan on two runners, and end in order when they are told to', async () => {
    const database = await aDatabase({ migrated: false })
    await database.query(
      "CREATE SCHEMA content; CREATE TABLE content.film (id integer PRIMARY KEY, title text); INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 40) AS n",
    )
    await expectDone(start(commandOf('etl_migrate'), settingsOf('etl_migrate', database)))
    const api = start(commandOf('etl_api'), settingsOf('etl_api', database))
    const [, port = ''] = await api.waitForOutput(/API\s+http:\/\/127\.0\.0\.1:(\d+)/)
    const runners = [1, 2].map(() => start(commandOf('etl_runner'), settingsOf('etl_runner', database)))
    const ports = await Promise.all(runners.map(metricsPort))

    await expectDone(start(image.healthcheck, { VITRINA_PORT: port }))
    const [, ...check] = readCompose(SECRETS).services.etl_runner!.healthcheck!.test!
    for (const own of ports)
      await expectDone(
        start(
          check.map((part) => part.replace('9464', own)),
          {},
        ),
      )
    if (process.getuid?.() === 0)
      expect([api, ...runners].map(({ pid }) => userOf(pid))).toEqual(Array(3).fill(String(image.user.uid)))

    const body = 'SELECT id, title FROM content.film'
    const tasks = [{ taskType: 'SQL', body } as const, { taskType: 'PYTHON', body: 'shout' } as const]
    const { id, spec } = await aPipeline(database, { type: 'PYTHON', keyColumns: ['id'], tasks })
    const run = await runEnded(database, await requestRun(database, id))
    expect(run).toMatchObject({ status: 'SUCCESS', rows_written: 40, error: null })
    expect(await database.query(`SELECT title FROM ${spec.targetTable} WHERE id = 7`)).toEqual([
      { title: 'FILM 7' },
    ])
    const asked = await fetch(`http://127.0.0.1:${port}/pipelines`, {
      headers: { authorization: `Bearer ${SECRETS.VITRINA_API_TOKEN}` },
    })
    expect(asked.status).toBe(200)
    for (const program of [api, ...runners]) await stop(program)
    const said = [api, ...runners].map(({ stdout, stderr }) => stdout + stderr).join('')
    expect(said).not.toContain(SECRETS.VITRINA_API_TOKEN)
  }, 120_000)
})

async function metricsPort(runner: SpawnedVitrina): Promise<string> {
  const [, port = ''] = await runner.waitForOutput(/"port":(\d+),"msg":"Metrics and health are served\."/)
  return port
}

describe('the units of systemd, as processes', () => {
  it('serve and run without rights in a folder they cannot write, and end in order', async () => {
    const database = await aDatabase()
    const env = {
      DATABASE_URL: database.url,
      VITRINA_PORT: '0',
      VITRINA_API_TOKEN: SECRETS.VITRINA_API_TOKEN,
    }
    const programs = ['vitrina-api.service', 'vitrina-runner@.service'].map((name) => {
      const unit = readUnit(name)
      const installed = unit.command.map((part) => part.replace('/opt/vitrina/node_modules/vitrina', app))
      return start(installed, { ...unit.env, ...env })
    })
    await programs[0]!.waitForOutput(/API\s+http/)
    await programs[1]!.waitForOutput(/Runner started/)
    for (const program of programs) await stop(program)
  })

  it('are what systemd takes (systemd-analyze verify)', (context) => {
    if (!existsSync('/usr/bin/systemd-analyze')) context.skip('there is no systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'vitrina-units-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const [from, to] of [
      ['vitrina-api.service', 'vitrina-api.service'],
      ['vitrina-runner@.service', 'vitrina-runner@1.service'],
    ] as const) {
      writeFileSync(join(folder, to), readFileSync(join(ROOT, 'deploy/systemd', from)))
      execFileSync('systemd-analyze', ['verify', join(folder, to)], { stdio: 'pipe' })
    }
  })
})

describe('the compose file', () => {
  it('takes secrets from .env and refuses to start without them', () => {
    expect(() => readCompose({})).toThrow('set it in deploy/.env')
    const text = readFileSync(join(ROOT, 'deploy/docker-compose.yml'), 'utf8')
    const sample = readFileSync(join(ROOT, 'deploy/.env.sample'), 'utf8')
    const named = new Set([...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name))
    expect([...named].filter((name) => !new RegExp(`^#?${name}=`, 'm').test(sample))).toEqual([])
    for (const name of Object.keys(SECRETS)) expect(sample).toMatch(new RegExp(`^${name}=$`, 'm'))
  })

  it('R7.3 has database, API, runner and Elasticsearch, each held down and gated by the health of the others', () => {
    const { services } = readCompose(SECRETS)
    expect(Object.keys(services)).toEqual(
      expect.arrayContaining(['etl_db', 'etl_api', 'etl_runner', 'elasticsearch']),
    )
    for (const [name, service] of Object.entries(services)) {
      expect([name, service.cap_drop, service.security_opt]).toEqual([
        name,
        ['ALL'],
        ['no-new-privileges:true'],
      ])
      const user = OURS.includes(name) ? `${image.user.uid}` : `${service.user}`
      expect(user).toMatch(/^[1-9]\d*/)
    }
    for (const name of OURS)
      expect([name, services[name]!.read_only, services[name]!.init]).toEqual([name, true, true])
    for (const name of ['etl_api', 'etl_runner']) expect(gatesOf(services[name]!)).toEqual(GATES)
    expect(services.etl_runner).not.toHaveProperty('container_name')
    expect(services.etl_runner).not.toHaveProperty('ports')
  })
})

const GATES = {
  etl_db: { condition: 'service_healthy' },
  elasticsearch: { condition: 'service_healthy' },
  etl_migrate: { condition: 'service_completed_successfully' },
}

function gatesOf(service: Service): unknown {
  return service.depends_on
}
