import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { UnreadLimits } from '../../src/api/http/unread.js'
import { EventHub } from '../../src/api/services/event-hub.js'
import { MetricsService } from '../../src/api/services/metrics.js'
import { fleetText } from '../../src/telemetry/fleet.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { anApi, type TestApi, TOKEN } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { type BrowserHeaders, signIn } from '../support/sign-in.js'
import { openStream } from '../support/sse.js'
import { someTasks } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
})

describe('event streams', () => {
  async function aServer(streams: { total: number; perToken: number }) {
    const api = anApi(database.loginUrl('meta'), { streams })
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const token = async () => (await api.post('/tokens', { name: 'x', role: 'viewer' })).json().token
    const open = async (bearer: string) => {
      const client = await openStream(api.app, { authorization: `Bearer ${bearer}` })
      onTestFinished(() => client.close())
      return client
    }
    return { api, token, open }
  }

  it('are limited for each token and in all, with 429 and Retry-After', async () => {
    const { token, open, api } = await aServer({ total: 3, perToken: 2 })
    const [first, second] = [await token(), await token()]
    const streams = [await open(first), await open(first)]
    const mine = await open(first)
    expect([mine.response.status, mine.response.headers.get('retry-after')]).toEqual([429, '10'])
    await waitFor(async () => mine.text.includes('TOO_MANY_STREAMS'), { what: 'the problem' })
    expect(mine.text).toContain('API_MAX_STREAMS_PER_CALLER')
    const other = await open(second)
    expect(other.response.status).toBe(200)
    const any = await open(TOKEN)
    expect(any.response.status).toBe(429)
    // Everything else is answered.
    expect((await api.get('/pipelines')).statusCode).toBe(200)
    streams[0]!.close()
    await waitFor(async () => (await open(TOKEN)).response.status === 200, { what: 'the place to be free' })
  })

  it('do not lose slots to rejected requests', async () => {
    const { api, open } = await aServer({ total: 1, perToken: 1 })
    for (let n = 0; n < 3; n++) expect((await api.get('/events?last_event_id=nonsense')).statusCode).toBe(422)
    expect((await open(TOKEN)).response.status).toBe(200)
  })
})

describe('clients that read old events', () => {
  it('get pages one after another, and share them', async () => {
    let running = 0
    let most = 0
    const read: number[] = []
    const journal = {
      after: async (seq: number) => {
        running += 1
        most = Math.max(most, running)
        read.push(seq)
        await new Promise(setImmediate)
        running -= 1
        if (seq === 3) throw new Error('gone')
        return []
      },
    }
    const hub = new EventHub({ journal, wakeups: {}, onError: () => {} } as never)
    const pages = await Promise.allSettled([1, 1, 2, 3, 1, 2, 4].map((seq) => hub.read(seq)))
    expect([most, read]).toEqual([1, [1, 2, 3, 4]])
    expect(pages.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
      true,
    ])
    await hub.read(1)
    expect(read).toEqual([1, 2, 3, 4, 1])
  })
})

describe('downloads', () => {
  it('are limited for each token and in all, with 429 and Retry-After', async () => {
    // Its run must not be executed by the runner of another test.
    const own = await aDatabase()
    const api = anApi(own.loginUrl('meta'))
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = api.app.server.address() as AddressInfo
    const { id } = await aPipeline(own)
    const { run_id: runId } = (await api.post(`/pipelines/${id}/run`)).json()
    // More than the buffers of both sides hold.
    await own.query(
      "INSERT INTO etl.etl_run_log (run_id, at, level, message) SELECT $1, now(), 'info', repeat('x', 3000) FROM generate_series(1, 8000)",
      [runId],
    )
    const download = async (bearer: string, path = `/runs/${runId}/log.txt`): Promise<IncomingMessage> => {
      const headers = { authorization: `Bearer ${bearer}` }
      const request = get({ host: '127.0.0.1', port, path, headers, agent: false })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      onTestFinished(() => void response.destroy())
      return response
    }
    const viewer = async () => (await api.post('/tokens', { name: 'x', role: 'viewer' })).json().token
    const tokens = [await viewer(), await viewer(), await viewer()]
    // The responses are not read.
    const open: IncomingMessage[] = []
    for (const token of tokens) for (let n = 0; n < 4; n++) open.push(await download(token))
    expect(open.map(({ statusCode }) => statusCode)).toEqual(Array(12).fill(200))
    const mine = await download(tokens[0])
    expect([mine.statusCode, mine.headers['retry-after']]).toEqual([429, '10'])
    expect((await download(TOKEN, '/audit.csv')).statusCode).toBe(429)
    expect((await api.get('/pipelines')).statusCode).toBe(200)
    open[0]!.destroy()
    await waitFor(async () => (await download(TOKEN, '/audit.csv')).statusCode === 200, {
      what: 'the place to be free',
    })
  })

  it('that have ended leave their places', async () => {
    const api = anApi(database.loginUrl('meta'))
    for (let n = 0; n < 20; n++) expect((await api.get('/audit.csv')).statusCode).toBe(200)
  })
})

describe('responses that are not read', () => {
  /** An API that listens, and a run whose log has 20 MB: more than the buffers of both sides hold. */
  async function aLongLog(unread: UnreadLimits): Promise<{ api: TestApi; port: number; runId: string }> {
    const own = await aDatabase()
    const api = anApi(own.loginUrl('meta'), { unread })
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = api.app.server.address() as AddressInfo
    const { id } = await aPipeline(own)
    const { run_id: runId } = (await api.post(`/pipelines/${id}/run`)).json()
    await own.query(
      "INSERT INTO etl.etl_run_log (run_id, at, level, message) SELECT $1, now(), 'info', repeat('x', 20000) FROM generate_series(1, 1000)",
      [runId],
    )
    return { api, port, runId }
  }

  it('are limited for each token, with 429 and Retry-After, and their connections are closed', async () => {
    const { api, port, runId } = await aLongLog({ bytes: 1_000_000, stalledMs: 3_000 })
    const page = async (bearer: string, encoding = 'identity'): Promise<IncomingMessage> => {
      const headers = { authorization: `Bearer ${bearer}`, 'accept-encoding': encoding }
      const path = `/runs/${runId}/log?limit=1000`
      const request = get({ host: '127.0.0.1', port, path, headers, agent: false })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      onTestFinished(() => void response.destroy())
      return response
    }
    const viewer = async () => (await api.post('/tokens', { name: 'x', role: 'viewer' })).json().token
    const [first, second] = [await viewer(), await viewer()]
    const unread = await page(first)
    unread.on('error', () => {})
    const began = performance.now()
    const refused = await page(first)
    expect([unread.statusCode, refused.statusCode, refused.headers['retry-after']]).toEqual([200, 429, '10'])
    refused.setEncoding('utf8')
    expect(JSON.parse((await refused.toArray()).join(''))).toMatchObject({ code: 'TOO_MANY_STREAMS' })
    const packed = await page(first, 'gzip')
    expect([packed.statusCode, packed.headers['content-encoding']]).toEqual([429, undefined])
    expect((await page(second)).statusCode).toBe(200)
    expect((await api.get('/pipelines')).statusCode).toBe(200)
    await waitFor(async () => (await page(first)).statusCode === 200, { what: 'the connection to be closed' })
    expect(performance.now() - began).toBeGreaterThan(2_500)
  })

  it('do not count once they are read', async () => {
    const api = anApi(database.loginUrl('meta'), { unread: { bytes: 1_000_000, stalledMs: 60_000 } })
    for (let n = 0; n < 10; n++) expect((await api.get('/openapi.json')).statusCode).toBe(200)
  })

  it('may be slow', async () => {
    const stalledMs = 2_000
    const { port, runId } = await aLongLog({ bytes: 1_000_000, stalledMs })
    const headers = { authorization: `Bearer ${TOKEN}`, 'accept-encoding': 'identity' }
    const path = `/runs/${runId}/log?limit=1000`
    const request = get({ host: '127.0.0.1', port, path, headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const began = performance.now()
    let size = 0
    let pauseAt = 0
    for await (const chunk of response) {
      size += chunk.length
      if (size < pauseAt) continue
      // The pace of a slow client: it never stops for as long as a stalled one, and takes longer in all.
      await delay(300)
      pauseAt = size + 1_500_000
    }
    expect(size).toBe(Number(response.headers['content-length']))
    expect(performance.now() - began).toBeGreaterThan(stalledMs)
  })
})

describe('a page of quarantined rows', () => {
  it('ends early if their values are long, and the next one continues', async () => {
    const own = await aDatabase()
    const api = anApi(own.loginUrl('meta'))
    const { id } = await aPipeline(own)
    const { run_id: runId } = (await api.post(`/pipelines/${id}/run`)).json()
    await own.query(
      `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason)
       SELECT $1, $2, n, '{id,title}', ARRAY[n::text, CASE WHEN n > 5 THEN repeat('x', 260000) ELSE 'short' END], 'no'
         FROM generate_series(1, 30) AS n`,
      [id, runId],
    )
    for (const path of ['/quarantine', `/pipelines/${id}/quarantine`]) {
      const keys: string[] = []
      let cursor: string | null = ''
      for (let pages = 0; cursor !== null; pages++) {
        expect(pages).toBeLessThan(10)
        const page = await api.get(`${path}?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`)
        expect(page.body.length).toBeLessThan(2_000_000)
        const { items, next_cursor } = page.json()
        keys.push(...items.map(({ key }: { key: string }) => key))
        cursor = next_cursor
      }
      expect(keys).toEqual(Array.from({ length: 30 }, (_, n) => String(30 - n)))
    }
    const { items, next_cursor, total } = (await api.get('/quarantine?limit=3')).json()
    expect([items.length, typeof next_cursor, total]).toEqual([3, 'string', 30])
    const [last] = (await api.get('/quarantine?limit=1')).json().items
    expect(last.row.title).toHaveLength(260_000)
  })
})

describe('requests that wait for a run', () => {
  it('are limited for each token and in all, and do not request a run that they could not wait for', async () => {
    const api = anApi(database.loginUrl('meta'), { streams: { total: 3, perToken: 2 } })
    const token = async () => (await api.post('/tokens', { name: 'x', role: 'operator' })).json().token
    const [first, second] = [await token(), await token()]
    const { id } = await aPipeline(database)
    // There is no runner: the run does not end by itself.
    const { run_id } = (await api.post(`/pipelines/${id}/run`)).json()
    const ask = (bearer: string) =>
      api.app.inject({ url: `/runs/${run_id}?wait=60s`, headers: { authorization: `Bearer ${bearer}` } })
    /** Sends requests until this many have been refused; the others wait. */
    const answers: { statusCode: number }[] = []
    const waiting: Promise<void>[] = []
    const send = async (bearer: string, requests: number, refused: number) => {
      const before = answers.length
      for (let n = 0; n < requests; n++) waiting.push(ask(bearer).then((answer) => void answers.push(answer)))
      await waitFor(async () => answers.length === before + refused, { what: `${refused} refusals` })
    }
    await send(first, 5, 3)
    const mine = await ask(first)
    expect([mine.headers['retry-after'], mine.json()]).toMatchObject([
      '10',
      { code: 'TOO_MANY_STREAMS', hint: expect.stringContaining('API_MAX_STREAMS_PER_CALLER') },
    ])
    const { id: other } = await aPipeline(database)
    const refused = await api.app.inject({
      method: 'POST',
      url: `/pipelines/${other}/run?wait=60s`,
      headers: { authorization: `Bearer ${first}` },
    })
    expect([refused.statusCode, (await api.get(`/pipelines/${other}`)).json().status]).toEqual([429, 'IDLE'])
    await send(second, 3, 2)
    expect((await ask(TOKEN)).json()).toMatchObject({ hint: expect.stringContaining('API_MAX_STREAMS sets') })
    await api.post(`/runs/${run_id}/cancel`)
    await Promise.all(waiting)
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([429, 429, 429, 429, 429, 200, 200, 200])
    expect((await ask(first)).json()).toMatchObject({ status: 'CANCELLED' })
  })
})

describe('what one caller stores', () => {
  it('is at most 500 sessions of a token; the ones that were not used for the longest time end first', async () => {
    const api = anApi(database.loginUrl('meta'))
    const { token } = (await api.post('/tokens', { name: 'busy', role: 'viewer' })).json()
    const oldest = await signIn(api, { token })
    const kept = await signIn(api, { token })
    await database.query(
      `INSERT INTO etl.etl_sessions (hash, token_hash, kind, key_hash, expires_at, used_at)
       SELECT sha256(n::text::bytea), sha256($1::bytea), 'session', '\\x00', now() + interval '1 day', now() + n * interval '1 ms'
         FROM generate_series(1, 498) AS n`,
      [token],
    )
    const seen = async (headers: BrowserHeaders) =>
      (await api.app.inject({ url: '/pipelines', headers })).statusCode
    expect([await seen(oldest), await seen(kept)]).toEqual([200, 200])
    await database.query(
      "UPDATE etl.etl_sessions SET used_at = now() - interval '1 hour' WHERE id = (SELECT id FROM etl.etl_sessions WHERE token_hash = sha256($1::bytea) ORDER BY created_at LIMIT 1)",
      [token],
    )
    const newest = await signIn(api, { token })
    expect([await seen(oldest), await seen(kept), await seen(newest)]).toEqual([401, 200, 200])
    // Codes lead to sessions, too.
    await api.app.inject({
      method: 'POST',
      url: '/session/code',
      headers: { authorization: `Bearer ${token}` },
    })
    const [{ count }] = (await database.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM etl.etl_sessions WHERE token_hash = sha256($1::bytea) AND kind = 'session'",
      [token],
    )) as [{ count: number }]
    expect(count).toBeLessThanOrEqual(500)
  })

  it('is at most 100 requested results of a check; results of runs stay', async () => {
    const api = anApi(database.loginUrl('meta'))
    const { id } = await aPipeline(database)
    const check = { name: 'some', type: 'row_count', min: 0, on_failure: 'warn' }
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([check]),
    ])
    await aRunner(database)
    const { id: runId } = await run(database, id)
    const count = async () =>
      database.query(
        'SELECT (run_id IS NULL) AS requested, count(*)::int AS count FROM etl.etl_check_results WHERE pipeline_id = $1 GROUP BY 1 ORDER BY 1',
        [id],
      )
    await database.query(
      `INSERT INTO etl.etl_check_results (pipeline_id, check_name, check_type, scope, on_failure, status)
       SELECT $1, 'some', 'row_count', 'mart', 'warn', 'passed' FROM generate_series(1, 300)`,
      [id],
    )
    expect((await api.post(`/pipelines/${id}/checks/run`)).statusCode).toBe(200)
    expect([runId, await count()]).toEqual([
      runId,
      [
        { requested: false, count: 1 },
        { requested: true, count: 100 },
      ],
    ])
  })

  it('is at most an evaluation of checks a second, because each may be reported to many', async () => {
    const api = anApi(database.loginUrl('meta'))
    const { id } = await aPipeline(database)
    const check = { name: 'some', type: 'row_count', min: 1, on_failure: 'warn' }
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([check]),
    ])
    const statuses = new Set<number>()
    for (let n = 0; n < 200 && !statuses.has(429); n++)
      statuses.add((await api.post(`/pipelines/${id}/checks/run`)).statusCode)
    expect(statuses).toContain(429)
  })
})

describe('the log of a run', () => {
  it('has an end, however much a task prints, and keeps the error', async () => {
    const { folder } = await someTasks({
      'typescript/noisy.ts': `import { task } from 'vitrina'
        let batches = 0
        task('noisy', (rows) => {
          for (let n = 0; n < 1000; n++) console.log('line ' + n)
          batches += 1
          if (batches === 3) throw new Error('the end of it')
          return rows
        })\n`,
    })
    await aRunner(database, {
      env: { VITRINA_TYPESCRIPT_TASKS: `${folder}/typescript`, RUN_LOG_MAX_LINES: '50' },
      retryWaitsMs: [10],
    })
    const sourceQuery = 'SELECT id AS film_id, title FROM content.film_work'
    const { id } = await aPipeline(database, {
      type: 'PYTHON',
      sourceQuery,
      batchSize: 10,
      tasks: [
        { taskType: 'SQL', body: sourceQuery },
        { taskType: 'PYTHON', body: 'noisy' },
      ],
    })
    const ended = await run(database, id)
    expect(ended.status).toBe('FAILED')
    const lines = () =>
      database.query<{ level: string; message: string }>(
        'SELECT level, message FROM etl.etl_run_log WHERE run_id = $1 ORDER BY id',
        [ended.id],
      )
    await waitFor(async () => (await lines()).some(({ level }) => level === 'error'), { what: 'the error' })
    const kept = await lines()
    expect(kept.filter(({ level }) => level === 'info').length).toBeLessThanOrEqual(50)
    expect(kept.filter(({ message }) => message.startsWith('The log of this run is full'))).toHaveLength(1)
    expect(kept.at(-1)).toMatchObject({ level: 'error' })
  })
})

describe('a preview', () => {
  it('is small, however many columns its rows have and however long their values are', async () => {
    const timeouts = { query: 120_000, transforms: 120_000 }
    const api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader'), timeouts })
    const names = Array.from({ length: 300 }, (_, n) => `c${n}`)
    const columns = names.map((name) => `repeat(n::text, 1990) AS ${name}`)
    const seen = await api.post('/preview?limit=200', {
      source_query: `SELECT n AS id, 'short' AS note, ${columns.join(', ')} FROM generate_series(1, 200) AS n`,
      target_table: 'analytics.wide',
      key_columns: ['id'],
    })
    expect(seen.statusCode).toBe(200)
    const { rows, truncated } = seen.json()
    expect([rows.length, truncated]).toEqual([200, true])
    expect(rows[199]).toMatchObject({ id: '200', note: 'short', c0: expect.stringMatching(/^(200)+2?0?$/) })
    expect(seen.body.length).toBeLessThan(16_000_000)
  })
})

describe('the metrics of a large fleet', () => {
  const PULSE = { oldestRequest: null, heartbeat: null, runners: 0, slots: 0 }
  const FLEET = 3_000

  it('are small, count everything, and name pipelines that need attention', async () => {
    const large = await aDatabase()
    const api = anApi(large.loginUrl('meta'), { metricsPipelines: 100 })
    await aPipeline(large, { name: 'first' })
    await large.query(
      // The first 100 by age have their own series, and rows of one statement would have the same age.
      `INSERT INTO etl.etl_pipelines (name, description, source_query, target_table, mode, key_columns, created_at)
       SELECT 'pipeline ' || n, '', 'SELECT 1 AS id', 'analytics.t_' || n, 'full', ARRAY['id'], now() + n * interval '1 ms'
         FROM generate_series(2, $1::int) n`,
      [FLEET],
    )
    await large.query(
      `INSERT INTO etl.etl_runs (pipeline_id, status, started_at, finished_at, rows_read)
       SELECT id, 'SUCCESS', now() - interval '2 seconds', now(), 3 FROM etl.etl_pipelines`,
    )
    // The trigger forgets the next run when the schedule changes.
    for (const change of [
      "enabled = true, schedule_interval = '1h'",
      "next_run_at = now() - interval '1 hour'",
    ])
      await large.query(`UPDATE etl.etl_pipelines SET ${change} WHERE name = 'pipeline 2999'`)
    const { body } = await api.get('/metrics')
    expect(body.length).toBeLessThan(500_000)
    const total = (text: string, family: string) =>
      text
        .split('\n')
        .filter((line) => line.startsWith(family))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    expect(total(body, 'vitrina_runs_total{')).toBe(FLEET)
    expect(total(body, 'vitrina_rows_total{')).toBe(3 * FLEET)
    expect(total(body, 'vitrina_run_duration_seconds_count{')).toBe(FLEET)
    expect(total(body, 'vitrina_pipelines{')).toBe(FLEET)
    expect(body).toContain('vitrina_runs_total{pipeline="first",status="SUCCESS"} 1')
    expect(body).toContain(`vitrina_runs_total{pipeline="(other)",status="SUCCESS"} ${FLEET - 100}`)
    expect(body).toContain(`vitrina_pipelines_without_series ${FLEET - 100}`)
    expect(body).toContain('vitrina_next_run_timestamp_seconds{pipeline="pipeline 2999"}')
    expect(body).not.toContain('vitrina_pipeline_status{pipeline="(other)"')
    expect(body).not.toContain('pipeline="pipeline 2000"')
    const { body: all } = await api.get('/metrics?pipelines=all')
    expect(all).toContain('vitrina_runs_total{pipeline="pipeline 2000",status="SUCCESS"} 1')
    expect(all).not.toContain('{pipeline="(other)"')
    const { body: none } = await api.get('/metrics?pipelines=none')
    expect(none).not.toContain('pipeline="first"')
    expect(total(none, 'vitrina_runs_total{')).toBe(FLEET)
    expect((await api.get('/metrics?pipelines=some')).statusCode).toBe(422)
  })

  it('are computed once for all requests within a few seconds', async () => {
    let asked = 0
    const runTotals = async () => {
      asked += 1
      return []
    }
    const catalog = { runTotals, fleetPulse: async () => PULSE, listSources: async () => [] }
    const meter = createMeter({ version: '1' })
    let now = 0
    const metrics = new MetricsService(catalog as never, meter, { most: 0, now: () => now })
    const ask = () => metrics.text({} as never, 'all')
    await Promise.all(Array.from({ length: 50 }, ask))
    expect(asked).toBe(1)
    now += 5_000
    await ask()
    expect(asked).toBe(2)
    await metrics.text({} as never, undefined)
    await metrics.text({} as never, undefined)
    expect(asked).toBe(4)
  })

  it('keep the series of a runner within the limit too', async () => {
    const meter = createMeter({ version: '1', mostPipelines: 2 })
    for (const name of ['a', 'b', 'c', 'd', 'a']) meter.runEnded(name, 'SUCCESS', 1)
    const text = await meter.text()
    expect(text).toContain('vitrina_runs_total{pipeline="a",status="SUCCESS"} 2')
    expect(text).toContain('vitrina_runs_total{pipeline="(other)",status="SUCCESS"} 2')
    expect(text).not.toContain('pipeline="c"')
    expect(text).not.toContain('vitrina_last_success_timestamp_seconds{pipeline="(other)"}')
  })

  it('report that the meta store is unavailable', () => {
    expect(fleetText(null, 0)).toContain('vitrina_meta_store_up 0')
  })
})
