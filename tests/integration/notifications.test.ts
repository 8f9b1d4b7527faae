import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { aDispatcher, aReportingPipeline, aRule, SECRET, webhookEnv } from '../support/notifications.js'
import { spawnVitrina } from '../support/processes.js'
import { aQueue } from '../support/queue.js'
import { anHttpReceiver, anSmtpReceiver, type HttpReceiver } from '../support/receivers.js'
import { waitFor } from '../support/wait.js'

interface Payload {
  readonly type: string
  readonly data: {
    readonly title: string
    readonly text: string
    readonly url: string
    readonly code: string | null
    readonly events: readonly { readonly event: string; readonly pipeline: string; readonly run_id: string }[]
  }
}

const payloads = ({ posts }: HttpReceiver) => posts.map(({ body }) => JSON.parse(body) as Payload)
const titles = (receiver: HttpReceiver) => payloads(receiver).map(({ data }) => data.title)
const outbox = (database: TestDatabase) =>
  database.query<{ event: string; pipeline_name: string; data: Record<string, unknown> }>(
    'SELECT event, pipeline_name, data FROM etl.etl_outbox ORDER BY id',
  )
const messages = (database: TestDatabase) =>
  database.query<{ status: string; attempts: number; last_error: string | null }>(
    'SELECT status, attempts, last_error FROM etl.etl_notification_messages ORDER BY created_at',
  )

describe('the outbox', () => {
  it('gets a failure in the transaction that ends the run, with the login of the runner', async () => {
    const { database, queue, aClaim, runOf } = await aQueue()
    await aRule(database)
    const claim = await aClaim()
    await queue.finish(claim, {
      status: 'FAILED',
      code: vtr('SOURCE_QUERY_FAILED'),
      error: 'relation "x" does not exist',
      hint: 'Check the query.',
    })
    expect(await outbox(database)).toEqual([
      expect.objectContaining({
        event: 'failed',
        data: expect.objectContaining({ code: 'VTR-2002', hint: 'Check the query.' }),
      }),
    ])
    expect((await runOf(claim))?.status).toBe('FAILED')
  })

  it('gets nothing if that transaction is rolled back', async () => {
    const database = await aDatabase()
    await aRule(database)
    const pipeline = await aReportingPipeline(database)
    const client = await database.client()
    await client.query('BEGIN')
    await client.query("INSERT INTO etl.etl_runs (pipeline_id, status) VALUES ($1, 'RUNNING')", [pipeline.id])
    await client.query("UPDATE etl.etl_runs SET status = 'FAILED' WHERE pipeline_id = $1", [pipeline.id])
    await client.query('ROLLBACK')
    expect(await outbox(database)).toEqual([])
  })

  it('has one row for each rule that names the event and the pipeline', async () => {
    const database = await aDatabase()
    const film = await aReportingPipeline(database, 'film_dim')
    const genre = await aReportingPipeline(database, 'genre_dim')
    await aRule(database, { events: ['failed'], pipelines: ['film_*'] })
    await aRule(database, { events: ['failed'], pipelines: ['genre%dim', 'genre?dim', 'film_di_'] })
    await aRule(database, { events: ['drift_found'] })
    await aRule(database, { events: ['failed'], enabled: false })
    await film.fail()
    await genre.fail()
    expect((await outbox(database)).map(({ pipeline_name }) => pipeline_name)).toEqual(['film_dim'])
  })

  it('has one row for each rule that names a tag of the pipeline', async () => {
    const database = await aDatabase()
    const film = await aReportingPipeline(database, 'film_dim')
    const genre = await aReportingPipeline(database, 'genre_dim')
    await database.query("UPDATE etl.etl_pipelines SET tags = '{core,films}' WHERE id = $1", [film.id])
    await aRule(database, { name: 'a tag', tags: ['films', 'other'] })
    await aRule(database, { name: 'another tag', tags: ['other'] })
    await aRule(database, { name: 'tag or name', tags: ['films'], pipelines: ['genre_*'] })
    await aRule(database, { name: 'neither', tags: ['other'], pipelines: ['person_*'] })
    await aRule(database, { name: 'all' })
    await film.fail()
    await genre.fail()
    const found = await database.query<{ rule: string; pipeline: string }>(
      `SELECT r.name AS rule, o.pipeline_name AS pipeline FROM etl.etl_outbox o JOIN etl.etl_notification_rules r ON r.id = o.rule_id
        ORDER BY o.pipeline_name, r.name`,
    )
    expect(found.map(({ rule, pipeline }) => `${pipeline}: ${rule}`)).toEqual([
      'film_dim: a tag',
      'film_dim: all',
      'film_dim: tag or name',
      'genre_dim: all',
      'genre_dim: tag or name',
    ])
  })

  it('gets the recovery of a live pipeline at its first live batch, once', async () => {
    const database = await aDatabase()
    const rule = await aRule(database)
    const pipeline = await aReportingPipeline(database)
    await pipeline.fail()
    const [run] = await database.query<{ id: string }>(
      "INSERT INTO etl.etl_runs (pipeline_id, status, started_at) VALUES ($1, 'RUNNING', now()) RETURNING id",
      [pipeline.id],
    )
    const batch = (number: number, step: string) =>
      database.query(
        `INSERT INTO etl.etl_run_batches (run_id, batch, attempt, step, rows_read, rows_inserted, rows_updated, rows_unchanged, rows_deleted, rows_quarantined, rows_duplicate, duration_ms)
         VALUES ($1, $2, 1, $3, 0, 0, 0, 0, 0, 0, 0, 1)`,
        [run!.id, number, step],
      )
    const events = async () => (await outbox(database)).map(({ event }) => event)
    await batch(1, 'changed')
    expect(await events()).toEqual(['failed'])
    await batch(2, 'live')
    await batch(3, 'live')
    expect(await events()).toEqual(['failed', 'recovered'])
    await database.query("UPDATE etl.etl_runs SET status = 'SUCCESS' WHERE id = $1", [run!.id])
    expect(await events()).toEqual(['failed', 'recovered'])
    expect(rule).toBeTruthy()
  })

  it('names a brake once for each rule, as the rule names it', async () => {
    const database = await aDatabase()
    const pipeline = await aReportingPipeline(database)
    await aRule(database, { events: ['failed'] })
    await aRule(database, { events: ['failed', 'brake'] })
    await aRule(database, { events: ['brake'] })
    await pipeline.fail('BRAKE')
    expect((await outbox(database)).map(({ event }) => event).sort()).toEqual(['brake', 'brake', 'failed'])
  })

  it('gets one recovery after each failure', async () => {
    const database = await aDatabase()
    const pipeline = await aReportingPipeline(database)
    await aRule(database)
    for (const end of ['succeed', 'fail', 'fail', 'succeed', 'succeed', 'fail', 'succeed'] as const)
      await pipeline[end]()
    expect((await outbox(database)).map(({ event }) => event)).toEqual([
      ...['failed', 'failed', 'recovered'],
      ...['failed', 'recovered'],
    ])
  })

  it('counts rows that are new in the quarantine, once for each run', async () => {
    const { database, queue, aClaim } = await aQueue()
    await aRule(database, { events: ['quarantine_grew'] })
    const claim = await aClaim()
    const refused = (key: string) => ({
      key,
      columns: ['id'],
      texts: [key],
      reason: `bad ${key}`,
      sqlstate: '22003',
    })
    await queue.quarantine(claim, [refused('1'), refused('2')], null)
    await queue.quarantine(claim, [refused('2'), refused('3')], null)
    expect(await outbox(database)).toEqual([
      expect.objectContaining({ event: 'quarantine_grew', data: { rows: 3, reason: 'bad 1' } }),
    ])
  })

  it('gets drift, a failed audit, and a checkpoint that is held back too long, once each', async () => {
    const { database, queue, aClaim } = await aQueue()
    await aRule(database, { events: ['drift_found', 'audit_failed', 'held_back'] })
    const claim = await aClaim()
    const compare = (deep: boolean, missing: number) =>
      database.query(
        `INSERT INTO etl.etl_comparisons (pipeline_id, deep, duration_ms, config_version, matches, source_rows, target_rows, missing)
         VALUES ($1, $2, 1, 1, false, 10, 9, $3)
         ON CONFLICT (pipeline_id, deep) DO UPDATE SET missing = excluded.missing`,
        [claim.pipeline.id, deep, missing],
      )
    await compare(false, 1)
    await compare(true, 0)
    await compare(true, 1)
    const audited = JSON.stringify({ audit: { failed: { at: '2026-01-01', rows: 2, key: '7' } } })
    for (let n = 0; n < 2; n++)
      await database.query('UPDATE etl.etl_state SET position = $2, ver = ver + 1 WHERE pipeline_id = $1', [
        claim.pipeline.id,
        audited,
      ])
    const hold = (since: Date) =>
      database.query('UPDATE etl.etl_runs SET held_back = $2 WHERE id = $1', [
        claim.runId,
        JSON.stringify({ reason: 'An open transaction.', pid: 7, since: since.toISOString() }),
      ])
    const old = new Date(Date.now() - 3_600_000)
    for (const since of [new Date(), old, old]) await hold(since)
    expect((await outbox(database)).map(({ event, data }) => [event, data])).toEqual([
      ['drift_found', { missing: 1, extra: 0, different: 0 }],
      ['audit_failed', { at: '2026-01-01', rows: 2, key: '7' }],
      ['held_back', { reason: 'An open transaction.', pid: 7, since: old.toISOString() }],
    ])
    await queue.release([claim], { end: 'given_back' })
  })
})

describe('delivery', () => {
  it('signs a webhook with cause, code, hint and a link to the run', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url) })
    await aRule(database, { name: 'failures' })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    const run = await pipeline.fail('SOURCE_QUERY_FAILED')
    await dispatcher.deliver()
    await dispatcher.deliver()
    expect(receiver.posts).toHaveLength(1)
    const [post] = receiver.posts
    const payload = new Webhook(SECRET).verify(post!.body, post!.headers as Record<string, string>) as Payload
    expect(payload).toMatchObject({
      type: 'vitrina.failed',
      data: {
        title: 'film_dim failed with SOURCE_QUERY_FAILED',
        text: 'Cause: It failed: SOURCE_QUERY_FAILED.\nCode: SOURCE_QUERY_FAILED (VTR-2002)\nHint: Try this.',
        url: `https://vitrina.example.com/ui/runs/${run}`,
        rule: 'failures',
        code: 'SOURCE_QUERY_FAILED',
        events: [
          {
            event: 'failed',
            pipeline: 'film_dim',
            run_id: run,
            code: 'SOURCE_QUERY_FAILED',
            vtr: 'VTR-2002',
          },
        ],
      },
    })
    expect(() =>
      new Webhook(SECRET).verify(`${post!.body} `, post!.headers as Record<string, string>),
    ).toThrow()
    expect(await messages(database)).toEqual([{ status: 'SENT', attempts: 1, last_error: null }])
  })

  it('makes one message of an outage, and one of its end', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url) })
    await aRule(database, { repeat_seconds: 600 })
    const pipelines = []
    for (let n = 1; n <= 12; n++) pipelines.push(await aReportingPipeline(database, `mart_${n}`))
    for (const pipeline of pipelines) await pipeline.fail('DATABASE_UNAVAILABLE')
    await dispatcher.deliver()
    // A straggler waits for the summary.
    await pipelines[0]!.fail('DATABASE_UNAVAILABLE')
    await dispatcher.deliver()
    for (const pipeline of pipelines.slice(1)) await pipeline.succeed()
    await dispatcher.deliver()
    expect(titles(receiver)).toEqual([
      '12 pipelines failed with DATABASE_UNAVAILABLE',
      '11 pipelines recovered',
    ])
    const [{ data }] = payloads(receiver) as [Payload]
    expect(data.text).toMatch(/^First: mart_1 at 20\S+Z\.\nCause: It failed/)
    expect(data.text).toContain('- mart_10\n- and 2 more')
    expect(data.events).toHaveLength(12)
  })

  it('sends after the quiet hours what happened during them, with what has recovered since', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    let now = new Date('2030-01-01T23:00:00Z')
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url), now: () => now })
    await aRule(database, { quiet_from: '22:00', quiet_to: '07:00' })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    await pipeline.fail()
    await dispatcher.deliver()
    await pipeline.succeed()
    now = new Date('2030-01-02T06:59:59Z')
    await dispatcher.deliver()
    expect(receiver.posts).toHaveLength(0)
    now = new Date('2030-01-02T07:00:00Z')
    await dispatcher.deliver()
    expect(titles(receiver)).toEqual(['film_dim failed with SOURCE_QUERY_FAILED'])
    expect(payloads(receiver)[0]!.data.text).toMatch(/\nrecovered at 20\S+Z$/)
  })

  it('retries while the receiver is down, and reports the recovery only after the failure arrived', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url), mostAttempts: 1_000 })
    await aRule(database)
    const pipeline = await aReportingPipeline(database, 'film_dim')
    let refusals = 0
    receiver.answer = (response) => {
      refusals += 1
      if (refusals === 5) receiver.answer = (later) => later.writeHead(200).end('ok')
      response.writeHead(503).end('maintenance')
    }
    await pipeline.fail()
    await pipeline.succeed()
    await pipeline.fail()
    await dispatcher.deliver()
    await pipeline.succeed()
    await dispatcher.deliver()
    expect(titles(receiver).slice(5)).toEqual([
      'film_dim failed with SOURCE_QUERY_FAILED (2 times)',
      'film_dim recovered',
    ])
    expect(new Set(receiver.posts.slice(0, 6).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    const [first] = await messages(database)
    expect(first).toMatchObject({ status: 'SENT', attempts: 6 })
    expect(first!.last_error).toContain(
      '127.0.0.1 responded with 503: maintenance. The receiver has a problem.',
    )
  })

  it('reports that data is fresh again after a breach that was sent, and once if a run failed too', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url) })
    await aRule(database, { events: ['stale', 'failed', 'recovered'] })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    await database.query(
      `INSERT INTO etl.etl_freshness (pipeline_id, budget_seconds) VALUES ($1, 60)
       ON CONFLICT (pipeline_id) DO UPDATE SET budget_seconds = 60`,
      [pipeline.id],
    )
    const breach = async (isBreached: boolean) => {
      await database.query(
        `UPDATE etl.etl_freshness SET breached_at = CASE WHEN $2 THEN now() END,
                cause = CASE WHEN $2 THEN '{"code": "NO_RUNNER"}'::jsonb END WHERE pipeline_id = $1`,
        [pipeline.id, isBreached],
      )
      await dispatcher.deliver()
    }
    await breach(true)
    await breach(false)
    expect(titles(receiver)).toEqual(['film_dim missed the freshness limit', 'film_dim recovered'])
    await pipeline.fail()
    await breach(true)
    await pipeline.succeed()
    await breach(false)
    expect(titles(receiver).slice(2)).toEqual([
      'film_dim failed with SOURCE_QUERY_FAILED',
      'film_dim missed the freshness limit',
      'film_dim recovered',
    ])
  })

  it('reports a recovery of which one failure arrived, although a later breach was given up', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url), mostAttempts: 1 })
    await aRule(database, { events: ['stale', 'failed', 'recovered'] })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    await database.query(
      `INSERT INTO etl.etl_freshness (pipeline_id, budget_seconds) VALUES ($1, 60)
       ON CONFLICT (pipeline_id) DO UPDATE SET budget_seconds = 60`,
      [pipeline.id],
    )
    await pipeline.fail()
    await dispatcher.deliver()
    receiver.answer = (response) => response.writeHead(404).end()
    await database.query(
      `UPDATE etl.etl_freshness SET breached_at = now(), cause = '{"code": "NO_RUNNER"}' WHERE pipeline_id = $1`,
      [pipeline.id],
    )
    await dispatcher.deliver()
    receiver.answer = (response) => response.writeHead(204).end()
    await pipeline.succeed()
    await dispatcher.deliver()
    expect(titles(receiver).at(-1)).toBe('film_dim recovered')
  })

  it('gives up after the last attempt, and does not report a recovery then', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    receiver.answer = (response) => response.writeHead(404).end('no_service')
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url), mostAttempts: 3 })
    await aRule(database)
    const pipeline = await aReportingPipeline(database)
    await pipeline.fail()
    await dispatcher.deliver()
    await pipeline.succeed()
    await dispatcher.deliver()
    expect(receiver.posts).toHaveLength(3)
    expect(await messages(database)).toEqual([
      { status: 'DEAD', attempts: 3, last_error: expect.stringContaining('404: no_service') },
    ])
  })

  it('waits as long as a receiver asks', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '120' }).end()
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url) })
    await aRule(database)
    await (await aReportingPipeline(database)).fail()
    await dispatcher.deliver()
    expect(receiver.posts).toHaveLength(1)
    const [row] = await database.query<{ wait: number }>(
      'SELECT extract(epoch FROM next_attempt_at - attempted_at)::float8 AS wait FROM etl.etl_notification_messages',
    )
    expect(row!.wait).toBeGreaterThanOrEqual(120)
  })

  it('sends each message once from two dispatchers at the same time', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const env = webhookEnv(receiver.url)
    const both = [aDispatcher(database, { env }), aDispatcher(database, { env })]
    await aRule(database, { max_per_hour: 1000 })
    const pipeline = await aReportingPipeline(database)
    for (let n = 0; n < 40; n++) await pipeline.fail(`CODE_${n}`)
    for (let n = 0; n < 3; n++) await Promise.all(both.map((one) => one.deliver()))
    const codes = payloads(receiver).map(({ data }) => data.code)
    expect(codes.sort()).toEqual(Array.from({ length: 40 }, (_, n) => `CODE_${n}`).sort())
  })
})

describe('a killed API', () => {
  it('loses nothing: another one repeats what was sent and not acknowledged, with the same id', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const env = {
      ...webhookEnv(receiver.url),
      VITRINA_API_DATABASE_URL: database.loginUrl('meta'),
      VITRINA_READER_DATABASE_URL: database.loginUrl('reader'),
      VITRINA_API_TOKEN: 'a-token-for-tests-only',
      VITRINA_PORT: '0',
    }
    await aRule(database)
    const pipeline = await aReportingPipeline(database, 'film_dim')
    // The receiver has the message, and the API waits for the response.
    receiver.answer = () => {}
    const first = spawnVitrina(['api'], env, { cwd: await aFolder() })
    await pipeline.fail()
    await waitFor(async () => receiver.posts.length > 0, { what: 'the first attempt', timeoutMs: 60_000 })
    first.kill('SIGKILL')
    await first.exited
    receiver.answer = (response) => response.writeHead(204).end()
    expect(await messages(database)).toEqual([{ status: 'PENDING', attempts: 1, last_error: null }])
    const second = spawnVitrina(['api'], env, { cwd: await aFolder() })
    await second.waitForOutput(/listening|http:\/\//i, 60_000)
    expect(receiver.posts).toHaveLength(1)
    // Expires the lease without waiting.
    await database.query('UPDATE etl.etl_notification_messages SET lease_until = clock_timestamp()')
    await waitFor(async () => (await messages(database))[0]!.status === 'SENT', {
      what: 'the second attempt',
      timeoutMs: 60_000,
    })
    expect(receiver.posts.map(({ headers }) => headers['webhook-id'])).toEqual(
      Array(2).fill(receiver.posts[0]!.headers['webhook-id']),
    )
    second.kill('SIGTERM')
    expect(await second.exited).toBe(0)
  })
})

describe('each type of channel', () => {
  it('sends what its receiver expects', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const mail = await anSmtpReceiver({ user: 'etl', password: 'p@ss word' })
    const channels = {
      slack: { type: 'slack', url: `${receiver.url}/services/T0/B0` },
      teams: { type: 'teams', url: `${receiver.url}/workflows/1?sig=abc` },
      telegram: { type: 'telegram', token: '123456:ABC-DEF', chat_id: -100, url: receiver.url },
      email: {
        type: 'email',
        url: `smtp://etl:p%40ss%20word@127.0.0.1:${mail.port}`,
        from: 'Vitrina <etl@example.com>',
        to: ['on-call@example.com', 'data@example.com'],
      },
    }
    const env = { ...webhookEnv(receiver.url), VITRINA_CHANNELS: JSON.stringify(channels) }
    const dispatcher = aDispatcher(database, { env })
    for (const channel of Object.keys(channels)) await aRule(database, { channel })
    const pipeline = await aReportingPipeline(database, 'film_dim')
    const run = await pipeline.fail('<!channel> & co')
    await dispatcher.deliver()
    expect((await messages(database)).map(({ status }) => status)).toEqual(Array(4).fill('SENT'))
    const bodies = new Map(receiver.posts.map(({ path, body }) => [path, JSON.parse(body)]))
    expect(bodies.get('/services/T0/B0').text).toBe(
      [
        '*film_dim failed with &lt;!channel&gt; &amp; co*',
        'Cause: It failed: &lt;!channel&gt; &amp; co.',
        'Code: &lt;!channel&gt; &amp; co',
        'Hint: Try this.',
        `<https://vitrina.example.com/ui/runs/${run}|Open in Vitrina>`,
      ].join('\n'),
    )
    const { attachments } = bodies.get('/workflows/1?sig=abc')
    expect(attachments[0].contentType).toBe('application/vnd.microsoft.card.adaptive')
    expect(attachments[0].content).toMatchObject({
      type: 'AdaptiveCard',
      body: [{ inlines: [{ text: 'film_dim failed with <!channel> & co', color: 'Attention' }] }, {}, {}, {}],
      actions: [{ type: 'Action.OpenUrl', url: `https://vitrina.example.com/ui/runs/${run}` }],
    })
    const chat = bodies.get('/bot123456:ABC-DEF/sendMessage')
    expect(chat.chat_id).toBe('-100')
    expect(chat.text).toMatch(/^film_dim failed with <!channel> & co\nCause: .*\nCode: .*\nHint: .*\nhttps:/)
    expect(mail.mails).toHaveLength(1)
    expect(mail.mails[0]).toMatchObject({
      from: 'etl@example.com',
      to: ['on-call@example.com', 'data@example.com'],
    })
    expect(mail.mails[0]!.text).toContain('Subject: film_dim failed with <!channel> & co')
    expect(mail.mails[0]!.text.replace(/=\r\n/g, '')).toContain(`/ui/runs/${run}`)
    expect(mail.logins).toEqual(['etl'])
  })
})
