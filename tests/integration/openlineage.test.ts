import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { createInspection } from '../../src/main/inspection.js'
import { createChannels, withOpenLineage } from '../../src/main/notifications.js'
import { NotificationDispatcher } from '../../src/notify/index.js'
import { SparkEngine } from '../../src/spark/spark-engine.js'
import { catalogStores } from '../../src/store/catalog/stores.js'
import { Database } from '../../src/store/database.js'
import { OutboxRepository } from '../../src/store/outbox.repository.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { NotificationEvents } from '../../src/telemetry/notification-events.js'
import { createTransforms } from '../../src/transforms/index.js'
import { aPipeline } from '../support/builders.js'
import { aCliStand } from '../support/cli.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aReportingPipeline } from '../support/notifications.js'
import { openLineageMistakes } from '../support/openlineage.js'
import { anHttpReceiver, type HttpReceiver } from '../support/receivers.js'
import { waitFor } from '../support/wait.js'

interface RunEvent {
  readonly eventType: string
  readonly eventTime: string
  readonly run: { readonly runId: string; readonly facets: Record<string, unknown> }
  readonly job: { readonly namespace: string; readonly name: string }
  readonly inputs: readonly { readonly name: string }[]
  readonly outputs: readonly {
    readonly name: string
    readonly facets: Record<string, { readonly fields: unknown }>
    readonly outputFacets?: { readonly outputStatistics: { readonly rowCount: number } }
  }[]
}

const eventsOf = ({ posts }: HttpReceiver) => posts.map(({ body }) => JSON.parse(body) as RunEvent)

/** What the API does with these settings, when `deliver` is called. */
async function aReporter(database: TestDatabase, env: Record<string, string>, mostAttempts = 10) {
  const pool = new Database(database.loginUrl('meta'), { name: 'vitrina-api', size: 4 })
  const settings = readSettings(env)
  const transforms = createTransforms(settings)
  const { lineage } = createInspection(database.loginUrl('reader'), database.loginUrl('meta'), {
    connections: new Map(),
    targets: { tables: ['analytics.*'], kinds: [] },
    sourceSchemas: ['content', 'ugc'],
    transforms,
    engine: new SparkEngine({ profiles: settings.sparkProfiles, environment: {} }),
  })
  onTestFinished(async () => {
    await transforms.close()
    await pool.close()
  })
  const outbox = new OutboxRepository(pool)
  await outbox.reportRuns(settings.OPENLINEAGE_URL !== undefined)
  const log = createLog({ service: 'api', version: 'test', level: 'silent', format: 'json' })
  return new NotificationDispatcher({
    outbox,
    channels: withOpenLineage(settings, createChannels(settings), {
      catalog: catalogStores(pool).catalog,
      lineage,
    }),
    events: new NotificationEvents(log, createMeter({ version: 'test' })),
    ...{ mostAttempts, retrySeconds: 0, pollMs: 60_000 },
  })
}

const messages = (database: TestDatabase) =>
  database.query<{ event: string; status: string; last_error: string | null }>(
    "SELECT event, status, last_error FROM etl.etl_notification_messages WHERE channel = 'openlineage' ORDER BY created_at, order_no",
  )

describe('OpenLineage run events', () => {
  let receiver: HttpReceiver
  const stand = aCliStand({
    env: async () => {
      receiver = await anHttpReceiver()
      return {
        OPENLINEAGE_URL: receiver.url,
        OPENLINEAGE_API_KEY: 'key-of-the-receiver',
        VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
      }
    },
  })

  it('report start and end of real runs, with datasets, columns, rows and the parent, valid by the schema', async () => {
    const { vitrina, database } = stand()
    const parent = `default/cinema.load/${randomUUID()}`
    expect(
      (await vitrina('pipelines', 'run', 'film_dim_full', '--wait', '--openlineage-parent', parent)).code,
    ).toBe(0)
    await waitFor(async () => eventsOf(receiver).length === 2, { what: 'both events', timeoutMs: 30_000 })
    const [start, complete] = eventsOf(receiver)
    expect(openLineageMistakes(start)).toEqual([])
    expect(openLineageMistakes(complete)).toEqual([])
    const [{ path, headers }] = receiver.posts as [HttpReceiver['posts'][number]]
    expect(path).toBe('/api/v1/lineage')
    expect(headers.authorization).toBe('Bearer key-of-the-receiver')
    const [run] = await database.query<{ id: string; rows: number }>(
      'SELECT id, rows_written::int AS rows FROM etl.etl_runs ORDER BY requested_at DESC LIMIT 1',
    )
    expect(start).toMatchObject({
      eventType: 'START',
      run: { runId: run!.id, facets: { parent: { job: { namespace: 'default', name: 'cinema.load' } } } },
      job: { namespace: 'vitrina', name: 'film_dim_full' },
    })
    expect(start!.outputs[0]!.outputFacets).toBeUndefined()
    expect(complete).toMatchObject({ eventType: 'COMPLETE', run: { runId: run!.id } })
    expect(complete!.eventTime > start!.eventTime).toBe(true)
    expect(complete!.inputs.map(({ name }) => name.split('.').slice(1).join('.'))).toContain(
      'content.film_work',
    )
    const [output] = complete!.outputs
    expect(output!.name).toMatch(/\.analytics\.film_dim$/)
    expect(output!.facets.schema!.fields).toContainEqual({ name: 'title', type: 'text' })
    expect(Object.keys(output!.facets.columnLineage!.fields as object)).toContain('title')
    expect(run!.rows).toBeGreaterThan(0)
    expect(output!.outputFacets!.outputStatistics.rowCount).toBe(run!.rows)
  })

  it('report a failure with its cause, and reject a parent that is not one', async () => {
    const { vitrina, database } = stand()
    const { spec } = await aPipeline(database, {
      sourceQuery: 'SELECT nope AS film_id FROM content.film_work',
    })
    await vitrina('pipelines', 'run', spec.name, '--wait')
    const ours = () => eventsOf(receiver).filter(({ job }) => job.name === spec.name)
    await waitFor(async () => ours().length === 2, { what: 'both events', timeoutMs: 30_000 })
    expect(ours().map(({ eventType }) => eventType)).toEqual(['START', 'FAIL'])
    for (const event of ours()) expect(openLineageMistakes(event)).toEqual([])
    expect(ours()[1]!.run.facets.errorMessage).toMatchObject({ message: expect.stringContaining('nope') })
    const wrong = await vitrina('pipelines', 'run', 'film_dim_full', '--openlineage-parent', 'x/y')
    expect(wrong.code).not.toBe(0)
    expect(wrong.stderr).toContain('namespace/job/run id')
  })

  it('are shown as a channel that rules cannot name', async () => {
    const { vitrina } = stand()
    expect((await vitrina('notifications', 'channels')).stdout).toMatch(/openlineage\s+openlineage\s+127/)
    const made = await vitrina(
      ...['notifications', 'create', '--name', 'x', '--event', 'failed', '--channel', 'openlineage'],
    )
    expect(made.stderr).toContain('receives every run and nothing else')
  })
})

describe('delivery of run events', () => {
  it('is in the order of each run, also if the receiver fails in between', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const reporter = await aReporter(database, {
      OPENLINEAGE_URL: `${receiver.url}/lineage`,
      VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    })
    const pipelines = await Promise.all([1, 2, 3].map(() => aReportingPipeline(database)))
    for (const pipeline of pipelines) {
      await pipeline.succeed()
      await pipeline.fail()
    }
    const accepted: RunEvent[] = []
    let refused = 0
    receiver.answer = (response, { body }) => {
      // Every third request fails.
      if (receiver.posts.length % 3 === 0 && ++refused <= 6) return void response.writeHead(503).end()
      accepted.push(JSON.parse(body))
      response.writeHead(201).end()
    }
    await waitFor(
      async () => {
        await reporter.deliver()
        return (await messages(database)).every(({ status }) => status === 'SENT')
      },
      { what: 'all events', timeoutMs: 30_000 },
    )
    expect(refused).toBeGreaterThan(2)
    expect(accepted).toHaveLength(12)
    const runs = new Set(accepted.map(({ run }) => run.runId))
    expect(runs.size).toBe(6)
    for (const runId of runs) {
      const events = accepted.filter(({ run }) => run.runId === runId)
      expect(events.map(({ eventType }) => eventType)[0]).toBe('START')
      expect(['COMPLETE', 'FAIL']).toContain(events[1]!.eventType)
      for (const event of events) expect(openLineageMistakes(event)).toEqual([])
    }
    expect(receiver.posts.every(({ path }) => path === '/lineage')).toBe(true)
  })

  it('ends paused and cancelled runs with ABORT, and reports a run once however often it is claimed', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const reporter = await aReporter(database, {
      OPENLINEAGE_URL: receiver.url,
      VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    })
    const { id } = await aPipeline(database)
    const run = async (...statuses: string[]) => {
      const [made] = await database.query<{ id: string }>(
        "INSERT INTO etl.etl_runs (pipeline_id, status) VALUES ($1, 'REQUESTED') RETURNING id",
        [id],
      )
      for (const status of statuses)
        await database.query(
          "UPDATE etl.etl_runs SET status = $2, started_at = CASE $2 WHEN 'RUNNING' THEN coalesce(started_at, now()) ELSE started_at END WHERE id = $1",
          [made!.id, status],
        )
      return made!.id
    }
    const paused = await run('RUNNING', 'REQUESTED', 'RUNNING', 'PAUSED')
    const cancelled = await run('RUNNING', 'CANCELLED')
    // Cancelled before a runner took it: nothing started.
    await run('CANCELLED')
    await waitFor(
      async () => {
        await reporter.deliver()
        return receiver.posts.length === 4
      },
      { what: 'four events' },
    )
    const types = (runId: string) =>
      eventsOf(receiver).flatMap(({ run: own, eventType }) => (own.runId === runId ? [eventType] : []))
    expect(types(paused)).toEqual(['START', 'ABORT'])
    expect(types(cancelled)).toEqual(['START', 'ABORT'])
  })

  it('writes nothing without a receiver, and the event of a rolled back end never', async () => {
    const database = await aDatabase()
    await aReporter(database, {})
    const pipeline = await aReportingPipeline(database)
    await pipeline.succeed()
    expect(await messages(database)).toEqual([])
    await aReporter(database, { OPENLINEAGE_URL: 'https://lineage.example.com' })
    const client = await database.client()
    await client.query('BEGIN')
    await client.query(
      "INSERT INTO etl.etl_runs (pipeline_id, status, started_at) VALUES ($1, 'RUNNING', now())",
      [pipeline.id],
    )
    await client.query('ROLLBACK')
    expect(await messages(database)).toEqual([])
  })

  it.each([
    ['on this machine', 'http://127.0.0.1:9/', {}, /on this machine or in a private network/],
    [
      'of cloud metadata',
      'http://169.254.169.254/',
      { VITRINA_NOTIFY_ALLOWED_HOSTS: '169.254.169.254' },
      /never sent/,
    ],
    [
      'that is not listed',
      'http://127.0.0.1:9/',
      { VITRINA_NOTIFY_ALLOWED_HOSTS: 'lineage.example.com' },
      /is not in VITRINA_NOTIFY_ALLOWED_HOSTS/,
    ],
  ])('refuses an address %s, and lists what it gave up', async (_what, url, env, message) => {
    const database = await aDatabase()
    const reporter = await aReporter(database, { OPENLINEAGE_URL: url, ...env }, 1)
    await (await aReportingPipeline(database)).succeed()
    await reporter.deliver()
    const found = await messages(database)
    expect(found.map(({ status }) => status)).toEqual(['DEAD', 'DEAD'])
    for (const { last_error } of found) expect(last_error).toMatch(message)
  })

  it('does not follow redirects, and shows neither the key nor the address that a receiver repeats', async () => {
    const database = await aDatabase()
    const [inner, outer] = [await anHttpReceiver(), await anHttpReceiver()]
    const env = {
      OPENLINEAGE_URL: `${outer.url}/lineage/secret-address?code=secret-code`,
      OPENLINEAGE_API_KEY: 'secret-of-the-receiver',
      VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    }
    outer.answer = (response, { path, headers }) =>
      response.writeHead(307, { location: inner.url }).end(`moved: ${path} ${headers.authorization}`)
    const reporter = await aReporter(database, env, 1)
    await (await aReportingPipeline(database)).succeed()
    await reporter.deliver()
    expect([inner.posts.length, outer.posts[0]!.headers.authorization]).toEqual([
      0,
      'Bearer secret-of-the-receiver',
    ])
    const found = await messages(database)
    expect(found.map(({ status }) => status)).toEqual(['DEAD', 'DEAD'])
    for (const { last_error } of found) {
      expect(last_error).toContain('responded with 307: moved: ***')
      expect(last_error).not.toMatch(/secret-/)
    }
  })

  it('reports runs without datasets if the pipeline was deleted meanwhile', async () => {
    const database = await aDatabase()
    const receiver = await anHttpReceiver()
    const reporter = await aReporter(database, {
      OPENLINEAGE_URL: receiver.url,
      VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
    })
    const pipeline = await aReportingPipeline(database)
    await pipeline.succeed()
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [pipeline.id])
    await reporter.deliver()
    expect(eventsOf(receiver).map(({ eventType }) => eventType)).toEqual(['START', 'COMPLETE'])
    for (const event of eventsOf(receiver)) {
      expect(event.job.name).toBe(pipeline.name)
      expect(openLineageMistakes(event)).toEqual([])
    }
  })
})
