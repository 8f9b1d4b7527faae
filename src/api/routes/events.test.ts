import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { openStream, type SeenEvent, type SseClient } from '../../../tests/support/sse.js'
import { waitFor } from '../../../tests/support/wait.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  await api.app.listen({ host: '127.0.0.1', port: 0 })
})

async function listen(headers: Record<string, string> = {}, query = ''): Promise<SseClient> {
  const client = await openStream(api.app, { authorization: `Bearer ${TOKEN}`, ...headers }, query)
  onTestFinished(() => client.close())
  return client
}

async function move(id: string, ...statuses: string[]): Promise<void> {
  for (const status of statuses)
    await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

const kinds = (events: readonly SeenEvent[]) =>
  events.map(({ event, data }) => `${event} ${data.to ?? data.status ?? data.name ?? ''}`)
const ids = (events: readonly SeenEvent[]) => events.map((event) => event.id)
const run = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n)

describe('GET /events', () => {
  it('delivers every transition and each batch, also those written by hand', async () => {
    const client = await listen()
    expect(client.response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(client.response.headers.get('x-accel-buffering')).toBe('no')
    const { id, spec } = await aPipeline(database)
    await move(id, 'RUN_REQUESTED', 'RUNNING')
    await database.query(
      `INSERT INTO etl.etl_run_batches (run_id, batch, attempt, step, rows_read, rows_inserted, rows_updated, rows_unchanged,
         rows_deleted, rows_quarantined, rows_duplicate, duration_ms)
       SELECT current_run_id, 1, 1, 'full', 10, 10, 0, 0, 0, 0, 0, 3 FROM etl.etl_pipelines WHERE id = $1`,
      [id],
    )
    await move(id, 'IDLE')
    await client.waitFor('the end', (events) => events.some(({ data }) => data.to === 'IDLE'))
    expect(kinds(client.events)).toEqual([
      `pipeline.created ${spec.name}`,
      ...['run.status REQUESTED', 'pipeline.status RUN_REQUESTED', 'pipeline.status RUNNING', 'run.batch '],
      ...['run.status CANCELLED', 'pipeline.status IDLE'],
    ])
    expect(client.events[4]?.data).toMatchObject({ pipeline_id: id, batch: 1, rows_read: 10, duration_ms: 3 })
    expect(client.text).toMatch(/^retry: \d+\n\n/)
    expect(ids(client.events)).toEqual(run(client.events[0]!.id, client.events.length))
  })

  it('continues after Last-Event-ID without gaps or repetitions', async () => {
    const first = await listen()
    const { id } = await aPipeline(database)
    await move(id, 'RUN_REQUESTED')
    await first.waitFor('the request', (events) => events.some(({ data }) => data.to === 'RUN_REQUESTED'))
    first.close()
    const last = first.events.at(-1)!.id
    await move(id, 'RUNNING', 'FAILED')
    const second = await listen({ 'last-event-id': String(last) })
    await move(id, 'RUN_REQUESTED')
    await second.waitFor('five more', (events) => events.length >= 5)
    expect(ids(second.events)).toEqual(run(last + 1, second.events.length))
    expect(new Set(kinds(second.events))).toContain('pipeline.status FAILED')
  })

  it('numbers a transaction that commits late after earlier commits, and delays no other event', async () => {
    const client = await listen()
    const [slow, quick] = [await aPipeline(database), await aPipeline(database)]
    const session = await database.client()
    await session.query('BEGIN')
    await session.query("UPDATE etl.etl_pipelines SET description = 'slow' WHERE id = $1", [slow.id])
    await database.query("UPDATE etl.etl_pipelines SET description = 'quick' WHERE id = $1", [quick.id])
    await client.waitFor('the fast one', (events) =>
      events.some(({ data, event }) => event === 'pipeline.changed' && data.pipeline_id === quick.id),
    )
    await session.query('COMMIT')
    await client.waitFor('the slow one', (events) =>
      events.some(({ data, event }) => event === 'pipeline.changed' && data.pipeline_id === slow.id),
    )
    expect(ids(client.events)).toEqual(run(client.events[0]!.id, client.events.length))
  })

  it('loses and repeats nothing with many writers, for clients that come and go', async () => {
    const steady = await listen()
    const pipelines = await Promise.all(Array.from({ length: 8 }, () => aPipeline(database)))
    let areDone = false
    const writers = pipelines.map(async ({ id }) => {
      const session = await database.client()
      for (let n = 0; n < 10; n++)
        await session.query('UPDATE etl.etl_pipelines SET description = $2 WHERE id = $1', [id, String(n)])
    })
    const comers = Promise.resolve().then(async () => {
      const seen: number[] = []
      let last: number | null = null
      for (let time = 0; time < 5; time++) {
        const client: SseClient = await listen(last === null ? {} : { 'last-event-id': String(last) })
        // After the last change only the first of them could still wait for more.
        const hasSome = async () => client.events.length > 3 || (time > 0 && areDone)
        await waitFor(hasSome, { what: 'some events', timeoutMs: 5_000 }).catch(() => {})
        client.close()
        seen.push(...ids(client.events))
        last = client.events.at(-1)?.id ?? last
      }
      return seen
    })
    await Promise.all(writers)
    areDone = true
    const seen = await comers
    const changed = (events: readonly SeenEvent[]) =>
      events.filter(({ event }) => event === 'pipeline.changed')
    await steady.waitFor('all changes', (events) => changed(events).length === 80)
    expect(ids(steady.events)).toEqual(run(steady.events[0]!.id, steady.events.length))
    expect(seen).toEqual(run(seen[0]!, seen.length))
  })

  it('delivers new events to a new client, however many happened without listeners', async () => {
    const own = anApi(database.loginUrl('meta'))
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    const { id } = await aPipeline(database)
    await database.query(
      "INSERT INTO etl.etl_events (kind, pipeline_id, data) SELECT 'pipeline.scheduled', $1, '{}' FROM generate_series(1, 12000)",
      [id],
    )
    const client = await openStream(own.app, { authorization: `Bearer ${TOKEN}` })
    onTestFinished(() => client.close())
    await move(id, 'RUN_REQUESTED')
    await client.waitFor('the request', (events) => events.some(({ data }) => data.to === 'RUN_REQUESTED'))
    expect(kinds(client.events)).toEqual(['run.status REQUESTED', 'pipeline.status RUN_REQUESTED'])
  })

  it('delivers only the requested events', async () => {
    const [wanted, other] = [await aPipeline(database), await aPipeline(database)]
    const client = await listen({}, `?pipeline_id=${wanted.id}`)
    await move(other.id, 'RUN_REQUESTED')
    await move(wanted.id, 'RUN_REQUESTED')
    await client.waitFor('the requested one', (events) =>
      events.some(({ data }) => data.to === 'RUN_REQUESTED'),
    )
    expect(new Set(client.events.map(({ data }) => data.pipeline_id))).toEqual(new Set([wanted.id]))
  })

  it('reports when events were deleted or never existed', async () => {
    await aPipeline(database)
    const fresh = await listen()
    await aPipeline(database)
    await fresh.waitFor('one', (events) => events.length > 0)
    await database.query("UPDATE etl.etl_events SET at = at - interval '2 days'")
    const journal = await database.client(database.loginUrl('meta'))
    await journal.query(
      "DELETE FROM etl.etl_events WHERE at < now() - interval '1 day' AND seq < (SELECT max(seq) FROM etl.etl_events)",
    )
    for (const last of ['1', '999999999']) {
      const client = await listen({ 'last-event-id': last })
      await client.waitFor('the gap', (events) => events.some(({ event }) => event === 'gap'))
    }
  })

  it('continues after the database terminated all its sessions', async () => {
    const client = await listen()
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'vitrina%'",
    )
    const { id } = await aPipeline(database)
    await client.waitFor('what happened after', (events) =>
      events.some(({ data }) => data.pipeline_id === id),
    )
  })

  it('shares one listening connection among many clients', async () => {
    await Promise.all(Array.from({ length: 20 }, () => listen()))
    const sessions = () =>
      database.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vitrina-wakeups'",
      )
    // The previous test may have terminated it; it reconnects after a moment.
    await waitFor(async () => (await sessions()).length > 0, { what: 'the listening connection' })
    expect(await sessions()).toHaveLength(1)
  })

  it('ends its streams when the server closes', async () => {
    const own = anApi(database.loginUrl('meta'))
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    const client = await openStream(own.app, { authorization: `Bearer ${TOKEN}` })
    await own.close()
    await waitFor(async () => client.ended, { what: 'the stream to end' })
  })

  it('requires a token', async () => {
    expect((await openStream(api.app, {})).response.status).toBe(401)
    expect((await listen({ 'last-event-id': 'x' })).response.status).toBe(422)
  })
})
