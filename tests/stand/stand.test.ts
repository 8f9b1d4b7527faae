import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readDemoPipelines } from '../../src/main/demo-data.js'
import { vtr } from '../../src/model/errors.js'
import { readCompose } from '../support/deployment.js'
import { waitFor } from '../support/wait.js'
import { MAKE_MS, Stand } from './support/stand.js'

/*
 * The stand of deploy/, built and run by podman, from a copy of the project. The tests are steps of one story: each
 * begins where the one before ended.
 */
const SERVICES = ['etl_db', 'elasticsearch', 'etl_api', 'etl_runner']
const OURS = ['etl_api', 'etl_runner']
const pipelines = await readDemoPipelines()

let stand: Stand
let started: { code: number; output: string }
beforeAll(async () => {
  stand = await Stand.create()
  started = await stand.make('up')
}, MAKE_MS)
afterAll(async () => {
  await stand?.make('down', 'ARGS=--volumes --timeout 5')
}, 600_000)

function idOf(name: string): string {
  return pipelines.find((one) => one.name === name)!.id
}

describe('R7.3 the stand in containers', { timeout: 600_000 }, () => {
  it('is built and started by make up, which creates the secrets and reports it', async () => {
    expect(started.code, started.output).toBe(0)
    expect(started.output).toContain('Created deploy/.env with random secrets')
    expect(statSync(join(stand.folder, 'deploy/.env')).mode & 0o777).toBe(0o600)
    expect(started.output).toContain(`The console is at http://127.0.0.1:${stand.ports.api}/ui/.`)
    expect(started.output).not.toContain(stand.secret('VITRINA_API_TOKEN'))
    // Without waiting: make up ends when the API is ready.
    const answer = await fetch(`http://127.0.0.1:${stand.ports.api}/health/ready`)
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ status: 'ok' })])
    const refused = await fetch(`http://127.0.0.1:${stand.ports.api}/pipelines`)
    expect(refused.status).toBe(401)
    for (const service of SERVICES) await stand.untilHealthy(service)
  })

  it('has the sample cinema and all its marts after make demo, built by its own runner', {
    timeout: MAKE_MS,
  }, async () => {
    const { code, output } = await stand.make('demo')
    expect(code, output).toBe(0)
    const plain = stripVTControlCharacters(output)
    for (const { target } of pipelines)
      expect(plain).toMatch(new RegExp(`✓ ${target} matches: [1-9]\\d* rows`))
    const { data } = await stand.client.GET('/runs')
    expect(data!.items.map(({ pipeline_name, status }) => [pipeline_name, status]).sort()).toEqual(
      pipelines.map(({ name }) => [name, 'SUCCESS']).sort(),
    )
    const { data: fleet } = await stand.client.GET('/runners')
    expect(fleet!.items.map(({ host }) => host)).toEqual([
      (await stand.exec('etl_runner', 'hostname')).output.trim(),
    ])
  })

  it('fills Elasticsearch, which this machine reaches', async () => {
    const [{ films, rated } = {}] = await stand.query(
      'SELECT (SELECT count(*)::int FROM content.film_work) AS films, (SELECT count(*)::int FROM analytics.film_rating_agg) AS rated',
    )
    expect(films).toBeGreaterThan(0)
    expect(await stand.documents('film_dim')).toBe(films)
    expect(await stand.documents('film_rating_agg')).toBe(rated)
  })

  it('keeps the administrator away from API and runner', async () => {
    for (const service of OURS) {
      const { output } = await stand.exec(service, "tr '\\0' '\\n' < /proc/1/environ; env")
      expect(output).toContain('VITRINA_READER_DATABASE_URL=postgres://vitrina_reader:')
      expect(output).not.toMatch(/^DATABASE_URL=/m)
      expect(output).not.toContain(stand.secret('POSTGRES_PASSWORD'))
      // Task functions run as the same user.
      const { output: first } = await stand.exec(service, "tr '\\0' '\\n' < /proc/1/environ")
      expect(first).toContain('PATH=')
      expect(first).not.toContain('_DATABASE_URL')
    }
    const { output: api } = await stand.exec('etl_api', 'env')
    const { output: runner } = await stand.exec('etl_runner', 'env')
    expect(api).not.toContain(stand.secret('VITRINA_WRITER_PASSWORD'))
    expect(runner).not.toContain(stand.secret('VITRINA_META_PASSWORD'))
    expect(runner).not.toContain(stand.secret('VITRINA_API_TOKEN'))
  })

  it('runs without root, without capabilities and on file systems that cannot be written', async () => {
    const users = { etl_db: '999', elasticsearch: '1000', etl_api: '10001', etl_runner: '10001' }
    for (const [service, user] of Object.entries(users)) {
      const { output } = await stand.exec(
        service,
        'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status',
      )
      const held = new RegExp(`^${user}\\nCapEff:\\s0+\\nCapBnd:\\s0+\\nNoNewPrivs:\\s1\\n$`)
      expect([service, output]).toEqual([service, expect.stringMatching(held)])
    }
    for (const service of [...OURS, 'etl_db']) {
      for (const file of ['/written', '/etc/written', '/usr/written', '/var/written'])
        expect(await stand.exec(service, `touch ${file}`)).toEqual({
          code: 1,
          output: expect.stringContaining('Read-only file system'),
        })
      expect(await stand.exec(service, 'touch /tmp/written && rm /tmp/written')).toMatchObject({ code: 0 })
    }
    for (const service of OURS)
      for (const file of ['/app/written', '/app/dist/written', '/app/pipelines/written'])
        expect(await stand.exec(service, `touch ${file}`)).toMatchObject({ code: 1 })
  })

  it('has the memory limits of the compose file', async () => {
    const { services } = readCompose({
      POSTGRES_PASSWORD: 'x',
      VITRINA_META_PASSWORD: 'x',
      VITRINA_WRITER_PASSWORD: 'x',
      VITRINA_READER_PASSWORD: 'x',
      VITRINA_API_TOKEN: 'x',
    })
    for (const service of SERVICES) {
      const format = '{{.HostConfig.Memory}}'
      const { output } = await stand.podman('inspect', '--format', format, await stand.container(service))
      const [, count, unit] = /^(\d+)([gm])$/.exec(String(services[service]!.mem_limit))!
      expect([service, Number(output)]).toEqual([service, Number(count) * 2 ** (unit === 'g' ? 30 : 20)])
    }
  })

  it('continues a run whose runner is killed, and loses and duplicates nothing', async () => {
    await stand.query(
      "CREATE TABLE content.crowd AS SELECT n AS id, 'visitor ' || n AS name FROM generate_series(1, 200000) AS n; ALTER TABLE content.crowd ADD PRIMARY KEY (id)",
    )
    const made = await stand.client.POST('/pipelines', {
      body: {
        name: 'crowd',
        source_query: 'SELECT id, name FROM content.crowd',
        target_table: 'analytics.crowd',
        key_columns: ['id'],
        batch_size: 200,
      },
    })
    expect(made.response.status, JSON.stringify(made.error)).toBe(201)
    const id = made.data!.id
    const { data } = await stand.client.POST('/pipelines/{id}/run', { params: { path: { id } } })
    await waitFor(() => requireBatches(data!.run_id, 3), { what: 'three batches', timeoutMs: 120_000 })
    const before = await runnerProcess()
    process.kill(before, 'SIGKILL')
    const run = await stand.untilEnded(data!.run_id)
    expect(run).toMatchObject({ status: 'SUCCESS', attempt: 2 })
    expect(await runnerProcess()).not.toBe(before)
    expect(await comparedCrowd()).toEqual(WHOLE_CROWD)
  })

  it('starts and works without Elasticsearch; only what writes there fails, with a clear error', async () => {
    expect(await stand.podman('stop', await stand.container('elasticsearch'))).toMatchObject({ code: 0 })
    for (const service of OURS) {
      expect(await stand.podman('restart', await stand.container(service))).toMatchObject({ code: 0 })
      await stand.untilHealthy(service)
    }
    expect(await stand.run(idOf('film_dim_full'))).toMatchObject({ status: 'SUCCESS' })
    const index = pipelines.find(({ target }) => target === 'es:film_dim')!
    const failed = await stand.run(index.id)
    expect(failed).toMatchObject({ status: 'FAILED', error_code: vtr('SINK_UNAVAILABLE') })
    expect(failed.error).toContain('elasticsearch')
    const [stopped = ''] = await stand.containers('elasticsearch', '--all')
    expect(await stand.podman('start', stopped)).toMatchObject({ code: 0 })
    await stand.untilHealthy('elasticsearch')
    expect(await stand.run(index.id)).toMatchObject({ status: 'SUCCESS' })
  })

  it('is migrated again by make migrate-db', async () => {
    const { code, output } = await stand.make('migrate-db')
    expect(code, output).toBe(0)
    expect(output).toContain('The meta store is already up to date.')
  })

  it('keeps its data and its secrets over make down and make up, here with two runners', {
    timeout: MAKE_MS,
  }, async () => {
    const secrets = readFileSync(join(stand.folder, 'deploy/.env'), 'utf8')
    const before = await facts()
    const down = await stand.make('down')
    expect(down.code, down.output).toBe(0)
    expect((await stand.podman('ps', '--all', '--quiet')).output).toBe('')
    const since = Date.now()
    const up = await stand.make('up', 'RUNNERS=2')
    expect(up.code, up.output).toBe(0)
    expect(up.output).not.toContain('Created deploy/.env')
    expect(readFileSync(join(stand.folder, 'deploy/.env'), 'utf8')).toBe(secrets)
    for (const service of ['etl_db', 'elasticsearch', 'etl_api']) await stand.untilHealthy(service)
    expect(await facts()).toEqual(before)
    await waitFor(
      async () => {
        const { data } = await stand.client.GET('/runners')
        // The one that was killed before has no time of its end.
        const living = data!.items.filter(({ started_at }) => Date.parse(started_at) > since)
        return living.length === 2
      },
      { what: 'two runners', timeoutMs: 120_000 },
    )
    expect(await stand.run(idOf('genre_dim_full'))).toMatchObject({ status: 'SUCCESS' })
  })

  it('assigns the run of a killed container to the other runner', async () => {
    const id = await idOfCrowd()
    const { data } = await stand.client.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const holder = await waitFor(
      async () => {
        await requireBatches(data!.run_id, 3)
        const { data: fleet } = await stand.client.GET('/runners')
        return fleet!.items.find(({ holds }) => holds.some(({ run_id }) => run_id === data!.run_id))?.host
      },
      { what: 'a runner that holds the run', timeoutMs: 120_000 },
    )
    expect(await stand.podman('kill', holder)).toMatchObject({ code: 0 })
    expect(await stand.untilEnded(data!.run_id)).toMatchObject({ status: 'SUCCESS', attempt: 2 })
    expect(await stand.containers('etl_runner')).toHaveLength(1)
    expect(await comparedCrowd()).toEqual(WHOLE_CROWD)
  })

  it('reports why it does not start with another password than the database was created with', {
    timeout: MAKE_MS,
  }, async () => {
    const right = stand.secret('POSTGRES_PASSWORD')
    expect(await stand.make('down')).toMatchObject({ code: 0 })
    stand.setSecret('POSTGRES_PASSWORD', 'another')
    const { code, output } = await stand.make('up')
    expect(code, output).not.toBe(0)
    expect(output).toContain('password authentication failed for user "vitrina"')
    expect(output).toContain('deploy/.env is not the one that')
    expect(output).not.toContain(right)
    stand.setSecret('POSTGRES_PASSWORD', right)
    expect((await stand.make('up')).output).toContain('The console is at')
  })

  it('names the port that is in use', { timeout: MAKE_MS }, async () => {
    expect(await stand.make('down')).toMatchObject({ code: 0 })
    const taken = createServer().listen(stand.ports.api, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { code, output } = await stand.make('up')
    expect(code, output).not.toBe(0)
    expect(output).toMatch(new RegExp(`${stand.ports.api}.*address already in use`))
    expect(output).toContain('set VITRINA_PUBLISH')
    expect(output).not.toContain('The console is at')
  })

  it('is removed with its data by make down ARGS=--volumes', async () => {
    const { code, output } = await stand.make('down', 'ARGS=--volumes')
    expect(code, output).toBe(0)
    expect((await stand.podman('ps', '--all', '--quiet')).output).toBe('')
    expect((await stand.podman('volume', 'ls', '--quiet')).output).toBe('')
  })
})

async function idOfCrowd(): Promise<string> {
  const { data } = await stand.client.GET('/pipelines', { params: { query: { q: 'crowd' } } })
  return data!.items[0]!.id
}

async function requireBatches(runId: string, count: number): Promise<true> {
  const { data } = await stand.client.GET('/runs/{id}', { params: { path: { id: runId } } })
  if (data!.batches < count) throw new Error(`${data!.batches} batches`)
  return true
}

const WHOLE_CROWD = [{ rows: 200_000, same: 200_000 }]

function comparedCrowd(): Promise<unknown> {
  return stand.query(
    'SELECT count(*)::int AS rows, count(t.id + s.id)::int AS same FROM analytics.crowd t FULL JOIN content.crowd s USING (id, name)',
  )
}

/** The process of the runner's container, as this machine sees it. */
async function runnerProcess(): Promise<number> {
  const format = '{{.State.Pid}}'
  const { output } = await stand.podman('inspect', '--format', format, await stand.container('etl_runner'))
  return Number(output)
}

/** What must still be there. */
async function facts(): Promise<unknown> {
  const counts = await stand.query(
    'SELECT (SELECT count(*)::int FROM etl.etl_pipelines) AS pipelines, (SELECT count(*)::int FROM etl.etl_runs) AS runs, (SELECT count(*)::int FROM analytics.film_dim) AS films, (SELECT count(*)::int FROM analytics.crowd) AS crowd',
  )
  return { counts, documents: await stand.documents('film_dim') }
}
