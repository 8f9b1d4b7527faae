import { type AddressInfo, createServer, type Socket } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { limitedHosts } from '../../src/transforms/limited-hosts.js'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { requestRun } from '../support/runs.js'
import { columnsOfTexts, someTasks } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
})

const DRAFT = {
  source_query: 'SELECT id AS film_id, title FROM content.film_work',
  target_table: 'analytics.drafted',
  key_columns: ['film_id'],
}

/** Takes connections and never answers: a check of it is busy until it lets go. From then on it refuses. */
async function aSilentServer() {
  const open = new Set<Socket>()
  let isHolding = true
  let most = 0
  const server = createServer((socket) => {
    if (!isHolding) return void socket.destroy()
    open.add(socket.on('error', () => {}).on('close', () => open.delete(socket)))
    most = Math.max(most, open.size)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const letGo = () => {
    isHolding = false
    for (const socket of open) socket.destroy()
  }
  onTestFinished(async () => {
    letGo()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://reader:x@127.0.0.1:${port}/x`,
    letGo,
    /** The most connections that were open at the same time. */
    most: () => most,
    hold: () => {
      isHolding = true
    },
    callers: (count: number) =>
      waitFor(async () => open.size === count, { what: `${count} connections to the silent server` }),
  }
}

async function anApiWith(options: Parameters<typeof anApi>[1]) {
  const api: TestApi = anApi(database.loginUrl('meta'), options)
  const token = async (role: string) => (await api.post('/tokens', { name: role, role })).json().token
  const ask = (bearer: string, url: string, payload?: object) =>
    api.app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url,
      headers: { authorization: `Bearer ${bearer}` },
      ...(payload === undefined ? {} : { payload }),
    })
  return { api, token, ask }
}

describe('checks at the same time', () => {
  it('are limited for each token and in all, with 429 and Retry-After', async () => {
    const silent = await aSilentServer()
    const { token, ask } = await anApiWith({
      readerUrl: silent.url,
      checks: { total: 2, perToken: 1, timeoutMs: 0 },
    })
    const [first, second, third] = [await token('operator'), await token('operator'), await token('operator')]
    const running = [ask(first, '/validate', DRAFT)]
    await silent.callers(1)
    const mine = await ask(first, '/validate', DRAFT)
    expect([mine.statusCode, mine.headers['retry-after'], mine.json()]).toMatchObject([
      429,
      '1',
      {
        code: 'TOO_MANY_CHECKS',
        retryable: true,
        hint: expect.stringContaining('API_MAX_CHECKS_PER_CALLER'),
      },
    ])
    running.push(ask(second, '/preview', DRAFT))
    await silent.callers(2)
    const any = await ask(third, '/validate', DRAFT)
    expect([any.statusCode, any.json()]).toMatchObject([429, { code: 'TOO_MANY_CHECKS' }])
    // What needs no source is answered.
    expect((await ask(first, '/pipelines')).statusCode).toBe(200)
    silent.letGo()
    await Promise.all(running)
    silent.hold()
    const next = ask(first, '/validate', DRAFT)
    await silent.callers(1)
    silent.letGo()
    expect((await next).statusCode).toBe(200)
  })

  it('wait for a slot for a while, and are rejected at once when too many wait', async () => {
    const silent = await aSilentServer()
    const { token, ask } = await anApiWith({
      readerUrl: silent.url,
      checks: { total: 2, perToken: 1, timeoutMs: 60_000 },
    })
    const [first, second] = [await token('operator'), await token('operator')]
    const running = ask(first, '/validate', DRAFT)
    await silent.callers(1)
    const waiting = Array.from({ length: 5 }, () => ask(first, '/validate', DRAFT))
    // One runs, four wait, and the sixth is answered while they do.
    expect((await Promise.race(waiting)).json()).toMatchObject({ code: 'TOO_MANY_CHECKS' })
    // No caller waits behind another caller's queue.
    const other = ask(second, '/validate', DRAFT)
    await silent.callers(2)
    silent.letGo()
    const answers = await Promise.all([running, other, ...waiting])
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 200, 429])
  })

  it.each(['/catalog/tables', '/lineage?level=column', '/lineage/openlineage', '/graph'])(
    'include %s of a viewer',
    async (path) => {
      const { id } = await aPipeline(database)
      // Otherwise the API would look up at its start what the pipeline reads.
      await database.query("INSERT INTO etl.etl_pipeline_reads VALUES ($1, '|content.film_work')", [id])
      const silent = await aSilentServer()
      const { token, ask } = await anApiWith({
        readerUrl: silent.url,
        checks: { total: 5, perToken: 1, timeoutMs: 0 },
      })
      const [viewer, operator] = [await token('viewer'), await token('operator')]
      const busy = ask(viewer, '/catalog/tables')
      await silent.callers(1)
      expect((await ask(viewer, path)).json()).toMatchObject({ code: 'TOO_MANY_CHECKS' })
      const other = ask(operator, '/catalog/tables')
      await silent.callers(2)
      silent.letGo()
      expect((await Promise.all([busy, other])).map(({ statusCode }) => statusCode)).not.toContain(429)
    },
  )

  it('read the lineage of many pipelines one after another', async () => {
    const many = await aDatabase({ cinema: true })
    await aPipeline(many)
    await many.query(
      `INSERT INTO etl.etl_pipelines (name, type, source_query, target_table, key_columns)
       SELECT 'p_' || n, 'SQL', 'SELECT id, title FROM content.film_work', 'analytics.m_' || n, '{id}' FROM generate_series(1, 160) AS n`,
    )
    await many.query(
      "INSERT INTO etl.etl_pipeline_reads SELECT id, '|content.film_work' FROM etl.etl_pipelines",
    )
    const silent = await aSilentServer()
    const api = anApi(many.loginUrl('meta'), { readerUrl: silent.url })
    onTestFinished(() => api.close())
    const paths = ['/lineage', '/lineage/openlineage']
    const answers = Array.from({ length: 6 }, (_, n) => api.get(paths[n % 2]!))
    await silent.callers(1)
    silent.letGo()
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode)
    expect([silent.most(), statuses]).toEqual([1, statuses.map(() => 200)])
  })

  it('include rows and profiles of marts, and evaluations of data checks in separate slots', async () => {
    const { id } = await aPipeline(database, { targetConnection: 'silent' })
    const check = { name: 'titled', type: 'not_null', column: 'title', on_failure: 'warn' }
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([check]),
    ])
    const silent = await aSilentServer()
    const { token, ask } = await anApiWith({
      connections: ['silent'],
      urls: new Map([['silent', silent.url]]),
      checks: { total: 5, perToken: 1, timeoutMs: 0 },
    })
    const operator = await token('operator')
    const busy = [ask(operator, `/pipelines/${id}/rows`)]
    await silent.callers(1)
    for (const path of ['rows', 'profile', 'profile?refresh=true'])
      expect((await ask(operator, `/pipelines/${id}/${path}`)).json()).toMatchObject({
        code: 'TOO_MANY_CHECKS',
      })
    busy.push(ask(operator, `/pipelines/${id}/checks/run`, {}))
    await silent.callers(2)
    const second = await ask(operator, `/pipelines/${id}/checks/run`, {})
    expect(second.json()).toMatchObject({ code: 'TOO_MANY_CHECKS' })
    silent.letGo()
    expect((await Promise.all(busy)).map(({ statusCode }) => statusCode)).not.toContain(429)
  })

  it('include changes of pipelines, in separate slots', async () => {
    const { id } = await aPipeline(database)
    // Otherwise the API would look up at its start what the pipelines read.
    await database.query(
      "INSERT INTO etl.etl_pipeline_reads SELECT id, '|content.film_work' FROM etl.etl_pipelines ON CONFLICT DO NOTHING",
    )
    const silent = await aSilentServer()
    const { api, token } = await anApiWith({
      readerUrl: silent.url,
      checks: { total: 5, perToken: 1, timeoutMs: 0 },
    })
    const admin = await token('admin')
    const send = (method: 'POST' | 'PATCH', url: string, payload: object) =>
      api.app.inject({ method, url, payload, headers: { authorization: `Bearer ${admin}` } })
    const busy = send('POST', '/pipelines?dry_run=true', { name: 'busy', ...DRAFT })
    expect(await Promise.race([silent.callers(1), busy.then(({ body }) => body)])).toBe(true)
    const other = { name: 'other', ...DRAFT }
    for (const [method, url, payload] of [
      ['POST', '/pipelines', other],
      ['POST', '/pipelines?dry_run=true', other],
      ['PATCH', `/pipelines/${id}`, other],
      ['POST', `/pipelines/${id}/update-config`, other],
      ['POST', `/pipelines/${id}/versions/1/restore`, {}],
    ] as const)
      expect((await send(method, url, payload)).json(), url).toMatchObject({ code: 'TOO_MANY_CHECKS' })
    const check = send('POST', '/validate', DRAFT)
    await silent.callers(2)
    silent.letGo()
    expect((await check).statusCode).toBe(200)
    expect((await busy).statusCode).not.toBe(429)
  })

  it('let a script create a hundred pipelines at the same time', async () => {
    const { api, token } = await anApiWith({ checks: { total: 8, perToken: 4 } })
    const headers = { authorization: `Bearer ${await token('admin')}` }
    const created = Array.from({ length: 100 }, (_, n) =>
      api.app.inject({
        method: 'POST',
        url: '/pipelines',
        payload: { name: `at_once_${n}`, ...DRAFT, target_table: `analytics.at_once_${n}` },
        headers,
      }),
    )
    const statuses = (await Promise.all(created)).map(({ statusCode }) => statusCode)
    expect(statuses).toEqual(statuses.map(() => 201))
  })

  it('never use more sessions than slots, regardless of the number of requests', async () => {
    const { api, token, ask } = await anApiWith({
      readerUrl: database.loginUrl('reader'),
      checks: { total: 3, perToken: 2, timeoutMs: 60_000 },
    })
    const [first, second] = [await token('operator'), await token('operator')]
    let most = 0
    let isOver = false
    const watching = (async () => {
      const watcher = await database.client()
      while (!isOver) {
        const { rows } = await watcher.query<{ count: string }>(
          "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'vitrina-inspect' AND datname = current_database()",
        )
        most = Math.max(most, Number(rows[0]!.count))
      }
    })()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => ask(n % 2 === 0 ? first : second, '/validate', DRAFT)),
    )
    isOver = true
    await watching
    const statuses = new Set(answers.map(({ statusCode }) => statusCode))
    expect([...statuses].sort()).toEqual([200, 429])
    expect(most).toBeLessThanOrEqual(3 * 3)
    expect((await api.get('/pipelines')).statusCode).toBe(200)
  })
})

describe('searches for the lock that a run waits for', () => {
  /** Data that is too old, with a run in progress that writes to this connection. */
  async function aLateRun(connection: string): Promise<string> {
    const { id } = await aPipeline(database, { freshness: '1s', targetConnection: connection })
    await database.query(
      `INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, heartbeat_at) VALUES ('busy', 'h', 1, '1', 1, now() + interval '1 hour')
       ON CONFLICT (id) DO NOTHING`,
    )
    await database.query(
      "UPDATE etl.etl_pipelines SET created_at = now() - interval '1 hour' WHERE id = $1",
      [id],
    )
    await requestRun(database, id)
    await database.query(
      `WITH run AS (UPDATE etl.etl_runs SET status = 'RUNNING', started_at = now(), runner_id = 'busy' WHERE pipeline_id = $1 RETURNING id)
       UPDATE etl.etl_pipelines SET status = 'RUNNING', current_run_id = run.id, lease_owner = 'busy', lease_until = now() + interval '1 hour'
         FROM run WHERE etl_pipelines.id = $1`,
      [id],
    )
    return id
  }

  it('are shared and few, regardless of the number of requests', async () => {
    const silent = await aSilentServer()
    const { token, ask } = await anApiWith({
      connections: ['silent'],
      urls: new Map([['silent', silent.url]]),
    })
    const viewer = await token('viewer')
    const ids = await Promise.all(Array.from({ length: 8 }, () => aLateRun('silent')))
    const answers = Array.from({ length: 80 }, (_, n) => ask(viewer, `/pipelines/${ids[n % 8]}/freshness`))
    // Those that get no search are answered while the others wait.
    const first = await Promise.race(answers)
    expect([first.statusCode, first.json().cause]).toMatchObject([200, { code: 'FIRST_LOAD' }])
    await silent.callers(4)
    silent.letGo()
    const codes = (await Promise.all(answers)).map((answer) => [answer.statusCode, answer.json().cause.code])
    expect(codes).toEqual(codes.map(() => [200, 'FIRST_LOAD']))
    expect(silent.most()).toBe(4)
  })
})

describe('hosts of tasks for checks', () => {
  const COLUMNS = columnsOfTexts('id bigint')
  const TASK = "import { task } from 'vitrina'\ntask('same', (rows) => rows)\n"

  it('wait for a slot, and get one as soon as it is free', async () => {
    const { hosts } = await someTasks({ 'typescript/same.ts': TASK })
    const limited = limitedHosts(hosts, { most: 1, timeoutMs: 60_000 })
    const options = { signal: new AbortController().signal, onOutput: () => {} }
    const first = await limited.open(['same'], COLUMNS, options)
    let isOpen = false
    const second = limited.open(['same'], COLUMNS, options).finally(() => {
      isOpen = true
    })
    // A round through the event loop, in which a second host would have begun to open.
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOpen).toBe(false)
    await first.close()
    await (await second).close()
    await (await limited.open(['same'], COLUMNS, options)).close()
  })

  it('are rejected when none becomes free, and a slot is not lost by a timeout', async () => {
    const { hosts } = await someTasks({ 'typescript/same.ts': TASK })
    const limited = limitedHosts(hosts, { most: 1, timeoutMs: 20 })
    const options = { signal: new AbortController().signal, onOutput: () => {} }
    const first = await limited.open(['same'], COLUMNS, options)
    await expect(limited.open(['same'], COLUMNS, options)).rejects.toMatchObject({ code: 'TOO_MANY_CHECKS' })
    await first.close()
    await first.close()
    await expect(limited.open(['unknown'], COLUMNS, options)).rejects.toMatchObject({
      code: 'TRANSFORM_UNKNOWN',
    })
    const second = await limited.open(['same'], COLUMNS, options)
    await expect(limited.open(['same'], COLUMNS, options)).rejects.toMatchObject({ code: 'TOO_MANY_CHECKS' })
    await second.close()
  })
})
