import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Login } from '../../src/model/logins.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import {
  type ContainerImage,
  layOut,
  ROOT,
  readCompose,
  readImage,
  readUnit,
  type Service,
} from '../support/deployment.js'
import { type SpawnedVitrina, spawnProgram } from '../support/processes.js'
import { requestRun, runEnded } from '../support/runs.js'

/** The empty lines of deploy/.env.sample. */
const SECRETS = {
  POSTGRES_PASSWORD: 'hunter2hunter2',
  VITRINA_META_PASSWORD: 'of-the-api',
  VITRINA_WRITER_PASSWORD: 'of-the-runner',
  VITRINA_READER_PASSWORD: 'of-both',
  VITRINA_API_TOKEN: 'a-token-of-the-stand',
}
const OURS = ['etl_migrate', 'etl_api', 'etl_runner', 'etl_demo']
/** What each login may is tried in src/store/roles.test.ts; here is who gets which. */
const LOGINS_OF = {
  etl_migrate: ['vitrina', 'vitrina_meta', 'vitrina_reader', 'vitrina_writer'],
  etl_demo: ['vitrina', 'vitrina_meta', 'vitrina_reader', 'vitrina_writer'],
  etl_api: ['vitrina_meta', 'vitrina_reader'],
  etl_runner: ['vitrina_reader', 'vitrina_writer'],
}

let image: ContainerImage
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
  const { environment = {} } = readCompose(secretsFor(database)).services[service]!
  const own = Object.entries(environment).map(([name, value]) => [name, hereOr(value, database)])
  return {
    ...Object.fromEntries(own),
    VITRINA_HOST: '127.0.0.1',
    VITRINA_PORT: '0',
    RUNNER_METRICS_HOST: '127.0.0.1',
    RUNNER_METRICS_PORT: '0',
  }
}

/** All tests share one server, so the passwords are those that every test derives. */
function secretsFor(database: TestDatabase): Record<string, string> {
  const { username, password, pathname } = new URL(database.url)
  const passwordOf = (login: Login) => new URL(database.loginUrl(login)).password
  return {
    ...SECRETS,
    POSTGRES_USER: username,
    POSTGRES_PASSWORD: password,
    POSTGRES_DB: pathname.slice(1),
    VITRINA_META_PASSWORD: passwordOf('meta'),
    VITRINA_WRITER_PASSWORD: passwordOf('writer'),
    VITRINA_READER_PASSWORD: passwordOf('reader'),
  }
}

/** An address of the stand's database, in this test. */
function hereOr(value: string, database: TestDatabase): string {
  return String(value).replace('@etl_db:5432/', `@${new URL(database.url).host}/`)
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
  it('migrate, serve, run a task plan on two runners, and shut down in order', async () => {
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
    const output = [api, ...runners].map(({ stdout, stderr }) => stdout + stderr).join('')
    expect(output).not.toContain(SECRETS.VITRINA_API_TOKEN)
  }, 120_000)
})

async function metricsPort(runner: SpawnedVitrina): Promise<string> {
  const [, port = ''] = await runner.waitForOutput(/"port":(\d+),"msg":"Serving metrics and health\."/)
  return port
}

describe('the units of systemd, as processes', () => {
  it('serve and run without rights in a folder they cannot write, and end in order', async () => {
    const database = await aDatabase()
    const reader = { VITRINA_READER_DATABASE_URL: database.loginUrl('reader') }
    const files: Record<string, Record<string, string>> = {
      'vitrina.env': { VITRINA_PORT: '0' },
      'api.env': {
        ...reader,
        VITRINA_API_DATABASE_URL: database.loginUrl('meta'),
        VITRINA_API_TOKEN: SECRETS.VITRINA_API_TOKEN,
      },
      'runner.env': { ...reader, VITRINA_RUNNER_DATABASE_URL: database.loginUrl('writer') },
      'migrate.env': { DATABASE_URL: database.url },
    }
    const startUnit = (name: string) => {
      const unit = readUnit(name)
      const installed = unit.command.map((part) => part.replace('/opt/vitrina/node_modules/vitrina', app))
      const given = unit.files.map((file) => files[basename(file)])
      return start(installed, Object.assign({ ...unit.env }, ...given))
    }
    await expectDone(startUnit('vitrina-migrate.service'))
    const programs = ['vitrina-api.service', 'vitrina-runner@.service'].map(startUnit)
    await programs[0]!.waitForOutput(/API\s+http/)
    await programs[1]!.waitForOutput(/Runner started/)
    for (const program of programs) await stop(program)
  })

  it('keep the administrator away from API and runner, and bound their memory', () => {
    const units = ['vitrina-api.service', 'vitrina-runner@.service', 'vitrina-migrate.service'].map(readUnit)
    expect(units.map(({ files }) => files.some((file) => file.endsWith('/migrate.env')))).toEqual([
      false,
      false,
      true,
    ])
    expect(units.map(({ unset }) => unset)).toEqual(['DATABASE_URL', 'DATABASE_URL', ''])
    for (const { memoryMax } of units) expect(memoryMax).toMatch(/^\d+[GM]$/)
  })

  it('are valid (systemd-analyze verify)', (context) => {
    if (!existsSync('/usr/bin/systemd-analyze')) context.skip('there is no systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'vitrina-units-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const [from, to] of [
      ['vitrina-api.service', 'vitrina-api.service'],
      ['vitrina-migrate.service', 'vitrina-migrate.service'],
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

  it('gives each service only the logins that it works with, and bounds the memory of all', () => {
    const { services } = readCompose(SECRETS)
    for (const [name, logins] of Object.entries(LOGINS_OF)) {
      const values = Object.values(services[name]!.environment ?? {})
      const found = values.flatMap((value) => /^postgres:\/\/([^:]+):/.exec(value)?.[1] ?? [])
      expect([name, found.sort()]).toEqual([name, logins])
    }
    for (const [name, { mem_limit }] of Object.entries(services))
      expect([name, mem_limit]).toEqual([name, expect.stringMatching(/^\d+[gm]$/)])
  })

  it('pins every image to an exact version and its digest', () => {
    const found = [
      ...readFileSync(join(ROOT, 'deploy/docker-compose.yml'), 'utf8').matchAll(
        /^ *(?:image|NODE_IMAGE): (.*)$/gm,
      ),
    ]
    const pulled = found.map(([, image = '']) => image).filter((image) => !image.startsWith('vitrina:'))
    expect(pulled).toHaveLength(5)
    for (const image of pulled)
      expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[a-z.]+\/[a-z/]+:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}\}$/)
    const node = /NODE_IMAGE:-(.*)\}/.exec(pulled.join('\n'))![1]
    expect(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')).toContain(`\nARG NODE_IMAGE=${node}\n`)
  })

  it('R7.3 has database, API, runner and Elasticsearch, each with few privileges, and stopped before the database', () => {
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
      expect([name, services[name]!.read_only, services[name]!.init]).toEqual([name, true, false])
    for (const name of ['etl_api', 'etl_runner']) expect(gatesOf(services[name]!)).toEqual(GATES)
    for (const { ports = [] } of Object.values(services) as { ports?: string[] }[])
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
    expect(services.etl_runner).not.toHaveProperty('container_name')
    expect(services.etl_runner).not.toHaveProperty('ports')
  })
})

const GATES = {
  etl_db: { condition: 'service_healthy' },
}

function gatesOf(service: Service): unknown {
  return service.depends_on
}

describe('deploy/create-env.sh', () => {
  const copy = () => {
    const folder = mkdtempSync(join(tmpdir(), 'vitrina-env-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const name of ['create-env.sh', '.env.sample'])
      writeFileSync(join(folder, name), readFileSync(join(ROOT, 'deploy', name)))
    const run = () => spawnSync('sh', [join(folder, 'create-env.sh')], { encoding: 'utf8', cwd: '/' })
    return { file: join(folder, '.env'), run, read: () => readFileSync(join(folder, '.env'), 'utf8') }
  }
  const settingIn = (text: string, name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''

  it('creates a file readable by its owner only, with a random value for each secret, and reports it', () => {
    const texts = [copy(), copy()].map(({ run, file, read }) => {
      expect(run()).toMatchObject({ status: 0, stdout: expect.stringContaining('Created deploy/.env') })
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(readdirSync(join(file, '..')).sort()).toEqual(['.env', '.env.sample', 'create-env.sh'])
      return read()
    })
    const values = texts.flatMap((text) => Object.keys(SECRETS).map((name) => settingIn(text, name)))
    for (const value of values) expect(value).toMatch(/^[0-9a-f]{48}$/)
    expect(new Set(values).size).toBe(values.length)
  })

  it('leaves an existing file unchanged, and names the secrets that it lacks', () => {
    const { file, run, read } = copy()
    const text = 'POSTGRES_PASSWORD=mine\nVITRINA_API_TOKEN=\n'
    writeFileSync(file, text)
    const { status, stderr } = run()
    expect(status).toBe(1)
    expect(stderr).toContain(
      'deploy/.env: No value for VITRINA_META_PASSWORD VITRINA_WRITER_PASSWORD VITRINA_READER_PASSWORD VITRINA_API_TOKEN',
    )
    expect(read()).toBe(text)
  })

  it('refuses a secret that does not fit into a URL and a token that the API would refuse, without quoting it', () => {
    const { file, run } = copy()
    run()
    const good = readFileSync(file, 'utf8')
    for (const [name, value, sentence] of [
      ['POSTGRES_PASSWORD', 'p@ssword', 'POSTGRES_PASSWORD has a character that is not a letter'],
      ['VITRINA_READER_PASSWORD', 'abc\r', 'VITRINA_READER_PASSWORD has a character that is not a letter'],
      ['VITRINA_API_TOKEN', 'secret', 'VITRINA_API_TOKEN has 6 characters; it needs at least 16.'],
    ] as const) {
      writeFileSync(file, good.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`))
      const { status, stderr } = run()
      expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)])
      expect(stderr).not.toContain(value.trim())
    }
    writeFileSync(file, good.replace(/^(POSTGRES_PASSWORD)=(.*)$/m, '$1="$2"'))
    expect(run()).toMatchObject({ status: 0, stderr: '' })
  })
})
