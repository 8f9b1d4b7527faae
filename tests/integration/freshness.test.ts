import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { StaleCause } from '../../src/model/freshness.js'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aCable } from '../support/cable.js'
import { aLogicalServer, type LogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runEnded, runsOf } from '../support/runs.js'
import { someTasks, taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

interface FreshnessAnswer {
  readonly data_as_of: string | null
  readonly age_seconds: number | null
  readonly budget_seconds: number | null
  readonly needed_seconds: number | null
  readonly needed_by: string | null
  readonly budget_left_seconds: number | null
  readonly breached: boolean
  readonly due_at: string | null
  readonly cause: {
    code: StaleCause['code']
    detail: string
    hint: string
    facts: { root: StaleCause['code'] | null }
  } | null
  readonly held_back: { pid: number | null; age_seconds: number | null } | null
}

let database: TestDatabase
let api: TestApi

/** 0.2 s for each row, without CPU time: a policy of the table waits. */
const SLOW = 'SELECT id, max(name) AS name FROM content.slow_item GROUP BY id'

const ENV = { ALLOWED_SOURCE_SCHEMAS: 'content' }

beforeEach(async () => {
  database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.item (id integer PRIMARY KEY, name text NOT NULL, modified timestamptz NOT NULL DEFAULT clock_timestamp());
    INSERT INTO content.item SELECT n, 'name ' || n FROM generate_series(1, 20) AS n;
    CREATE TABLE content.slow_item (id integer PRIMARY KEY, name text NOT NULL);
    INSERT INTO content.slow_item SELECT id, name FROM content.item;
    ALTER TABLE content.slow_item ENABLE ROW LEVEL SECURITY;
    CREATE POLICY slow ON content.slow_item FOR SELECT USING (pg_sleep(0.2) IS NOT NULL);
    GRANT USAGE ON SCHEMA content TO vitrina_reader; GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader`)
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    sourceSchemas: ['content', 'analytics'],
  })
})

/** Data that may be one second old, so that it is too old soon. */
async function aMart(overrides: PipelineOverrides = {}): Promise<string> {
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT id, name FROM content.item',
    targetTable: 'analytics.items',
    keyColumns: ['id'],
    freshness: '1s',
    ...overrides,
  })
  return id
}

async function freshnessOf(id: string): Promise<FreshnessAnswer> {
  const response = await api.get(`/pipelines/${id}/freshness`)
  expect(response.statusCode).toBe(200)
  return response.json()
}

/** The cause that is named first once the data is too old. */
async function causeOf(id: string): Promise<NonNullable<FreshnessAnswer['cause']>> {
  const { cause } = await waitFor(
    async () => {
      const found = await freshnessOf(id)
      return found.breached && found
    },
    { what: 'the data to be too old' },
  )
  return cause!
}

const loaded = (id: string) =>
  waitFor(async () => (await freshnessOf(id)).data_as_of !== null, { what: 'the first load' })

async function runningWith(id: string, batches: number): Promise<void> {
  await waitFor(
    async () => {
      const runs = await runsOf(database, id)
      if (runs.some((run) => run.status === 'RUNNING' && run.batches >= batches)) return true
      throw new Error(JSON.stringify(runs))
    },
    { what: `a run with ${batches} batches` },
  )
}

async function successes(id: string): Promise<number> {
  return (await runsOf(database, id)).filter(({ status }) => status === 'SUCCESS').length
}

async function setStatus(id: string, status: string): Promise<void> {
  await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

async function cancelRun(id: string): Promise<void> {
  const [run] = await runsOf(database, id)
  expect((await api.post(`/runs/${run!.id}/cancel`)).statusCode).toBeLessThan(300)
  await waitFor(
    async () => {
      const runs = await runsOf(database, id)
      if (runs.find((each) => each.id === run!.id)?.status === 'CANCELLED') return true
      throw new Error(JSON.stringify([run, runs]))
    },
    { what: 'the end of the run' },
  )
}

describe('A pipeline with a freshness', () => {
  it('is loaded at once, and again before its data is too old', async () => {
    const id = await aMart({ freshness: '3s' })
    await aRunner(database, { env: ENV })
    await waitFor(
      async () => (await runsOf(database, id)).filter(({ status }) => status === 'SUCCESS').length >= 3,
      {
        what: 'three runs',
      },
    )
    const runs = await database.query<{ trigger: string; gap: number | null }>(
      `SELECT trigger, extract(epoch FROM started_at - lag(started_at) OVER (ORDER BY started_at))::float8 AS gap
         FROM etl.etl_runs WHERE pipeline_id = $1 AND status = 'SUCCESS' ORDER BY started_at LIMIT 3`,
      [id],
    )
    expect(runs.map(({ trigger }) => trigger)).toEqual(['freshness', 'freshness', 'freshness'])
    // Not more often than needed: on a busy machine runs take longer and begin earlier, but a quarter of the limit stays.
    for (const { gap } of runs.slice(1)) expect(gap).toBeGreaterThan(0.75)
    expect(await freshnessOf(id)).toMatchObject({ budget_seconds: 3, due_at: expect.any(String) })
  })

  it('of one second runs at most four times a second, even if runners poll rarely', async () => {
    const id = await aMart({ freshness: '1s' })
    await aRunner(database, { env: { ...ENV, RUNNER_POLL_INTERVAL_MS: '60000' } })
    await waitFor(async () => (await successes(id)) >= 8, { what: 'eight runs' })
    const [gaps] = await database.query<{ least: number }>(
      `SELECT min(gap) AS least FROM (
         SELECT extract(epoch FROM started_at - lag(started_at) OVER (ORDER BY started_at))::float8 AS gap
           FROM etl.etl_runs WHERE pipeline_id = $1 AND status = 'SUCCESS') runs`,
      [id],
    )
    expect(gaps!.least).toBeGreaterThanOrEqual(0.25)
  })

  it('has the age of the start of its last successful run, not of its end', async () => {
    const id = await aMart({ freshness: '1h' })
    const runner = await aRunner(database, { env: ENV })
    await loaded(id)
    await runner.stop()
    const [run] = await database.query<{ started: string }>(
      "SELECT etl.rfc3339(data_as_of) AS started FROM etl.etl_runs WHERE pipeline_id = $1 AND data_as_of BETWEEN requested_at AND started_at + interval '1 second'",
      [id],
    )
    const found = await freshnessOf(id)
    expect(found).toMatchObject({
      data_as_of: run!.started,
      budget_seconds: 3600,
      breached: false,
      cause: null,
    })
    const { items } = (await api.get('/pipelines/overview')).json()
    expect(items).toMatchObject([{ id, freshness_due_at: found.due_at, budget_seconds: 3600 }])
    expect(found.budget_left_seconds! + found.age_seconds!).toBeCloseTo(3600)
    expect(Date.parse(found.due_at!)).toBeLessThan(Date.parse(found.data_as_of!) + 3_600_000)
  })

  it('keeps the age of the rows that a continued full pass has not read again', async () => {
    const id = await aMart({ freshness: null })
    await database.query(
      `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, batches, data_as_of)
       VALUES ($1, 'PAUSED', now() - interval '1 hour', now() - interval '1 hour', now(), 3, now() - interval '1 hour')`,
      [id],
    )
    await aRunner(database, { env: ENV })
    await runEnded(database, await requestRun(database, id))
    expect((await freshnessOf(id)).age_seconds).toBeGreaterThan(3599)
    await runEnded(database, await requestRun(database, id))
    expect((await freshnessOf(id)).age_seconds).toBeLessThan(600)
  })

  it('is not run again at once after its run was cancelled', async () => {
    const id = await aMart({ freshness: '1h', sourceQuery: SLOW, batchSize: 1 })
    await aRunner(database, { env: ENV, way: 'rows' })
    // The source computes all rows before the first batch; then the batches take milliseconds.
    await runningWith(id, 0)
    await cancelRun(id)
    const { due_at } = await freshnessOf(id)
    expect(Date.parse(due_at!)).toBeGreaterThan(Date.now() + 1_800_000)
  })

  it('is requested once, however many runners see that it is due', async () => {
    const ids: string[] = []
    for (let n = 0; n < 10; n++)
      ids.push(await aMart({ freshness: '1h', targetTable: `analytics.items_${n}` }))
    for (let n = 0; n < 3; n++) await aRunner(database, { env: { ...ENV, RUNNER_POLL_INTERVAL_MS: '20' } })
    for (const id of ids) await loaded(id)
    for (const id of ids) expect(await runsOf(database, id)).toHaveLength(1)
  })

  it.each([
    ['5', 'a duration such as 90s'],
    ['-5m', 'a duration'],
    ['0s', 'a duration'],
    ['400d', 'up to 366d'],
    ['soon', 'live'],
  ])('is refused if it is %s', async (freshness, words) => {
    const response = await api.post('/pipelines', {
      name: 'refused',
      source_query: 'SELECT id, name FROM content.item',
      target_table: 'analytics.refused',
      key_columns: ['id'],
      freshness,
    })
    expect(response.statusCode).toBe(422)
    expect(response.body).toContain(words)
  })
})

describe('A breach names its cause:', () => {
  it('NO_RUNNER, though nothing requests a run', async () => {
    const cause = await causeOf(await aMart())
    expect(cause).toMatchObject({ code: 'NO_RUNNER', hint: expect.stringContaining('vitrina runner') })
  })

  it('NO_RUNNER for a requested run', async () => {
    const id = await aMart()
    await requestRun(database, id)
    expect((await causeOf(id)).code).toBe('NO_RUNNER')
  })

  it('NO_RUNNER_FOR_TAGS', async () => {
    const id = await aMart({ tags: ['gpu'] })
    await aRunner(database, { env: { ...ENV, RUNNER_TAGS: 'light:1' } })
    await waitFor(async () => (await runsOf(database, id)).length > 0, { what: 'the request' })
    expect(await causeOf(id)).toMatchObject({
      code: 'NO_RUNNER_FOR_TAGS',
      detail: 'No runner accepts the tag gpu.',
    })
  })

  it.each([
    [
      'died',
      (id: string) => database.query('UPDATE etl.etl_pipelines SET lease_until = now() WHERE id = $1', [id]),
    ],
    [
      'handed it back',
      (id: string) =>
        database.query('UPDATE etl.etl_pipelines SET lease_owner = NULL, lease_until = NULL WHERE id = $1', [
          id,
        ]),
    ],
  ])('NO_RUNNER_FOR_TAGS for a run whose runner %s, when no other one takes it over', async (_what, end) => {
    const id = await aMart({ tags: ['gpu'] })
    await requestRun(database, id)
    await database.query(`SELECT etl.claim_run('dead-runner', 60, NULL, '{}', NULL);`)
    const runner = await aRunner(database, { env: { ...ENV, RUNNER_TAGS: 'light:1' } })
    expect((await causeOf(id)).code).toBe('RUNNER_SILENT')
    await end(id)
    expect(await causeOf(id)).toMatchObject({
      code: 'NO_RUNNER_FOR_TAGS',
      detail: 'No runner accepts the tag gpu.',
    })
    await runner.stop()
    expect((await causeOf(id)).code).toBe('NO_RUNNER')
  })

  it('NO_RUNNER for a queued run while the only runner is frozen', async () => {
    const id = await aMart()
    await requestRun(database, id)
    await database.query(
      `INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, heartbeat_at) VALUES ('frozen', 'host', 1, 'test', 4, now() - interval '20 seconds')`,
    )
    expect((await causeOf(id)).code).toBe('NO_RUNNER')
  })

  const whileLocked = async (table: string) => {
    const holder = await database.client()
    await holder.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    onTestFinished(async () => void (await holder.query('ROLLBACK')))
    return rows[0]!.pid
  }

  it('CONNECTION_LIMIT', async () => {
    const first = await aMart({ freshness: null })
    await aRunner(database, { env: { ...ENV, CONNECTION_LIMITS: 'main:1' } })
    await whileLocked('content.item')
    await requestRun(database, first)
    await runningWith(first, 0)
    const id = await aMart({ targetTable: 'analytics.second' })
    await waitFor(async () => (await runsOf(database, id)).length > 0, { what: 'the request' })
    const cause = await causeOf(id)
    expect(cause).toMatchObject({
      code: 'CONNECTION_LIMIT',
      detail: expect.stringContaining('1 of 1 concurrent runs and parts'),
    })
  })

  it('QUEUE', async () => {
    const first = await aMart({ freshness: null })
    await aRunner(database, { env: { ...ENV, RUNNER_CONCURRENCY: '1' } })
    await whileLocked('content.item')
    await requestRun(database, first)
    await runningWith(first, 0)
    const id = await aMart({ targetTable: 'analytics.second' })
    await waitFor(async () => (await runsOf(database, id)).length > 0, { what: 'the request' })
    expect(await causeOf(id)).toMatchObject({
      code: 'QUEUE',
      detail: expect.stringContaining('1 run is in progress'),
    })
  })

  it('QUEUE for a run that a stopping runner handed back while the others are busy', async () => {
    const first = await aMart({ freshness: null })
    await aRunner(database, { env: { ...ENV, RUNNER_CONCURRENCY: '1' } })
    await whileLocked('content.item')
    await requestRun(database, first)
    await runningWith(first, 0)
    const id = await aMart({ targetTable: 'analytics.second' })
    await waitFor(async () => (await runsOf(database, id)).length > 0, { what: 'the request' })
    await database.query(`SELECT etl.claim_run('stopping', 60, NULL, '{}', NULL)`)
    await database.query(
      'UPDATE etl.etl_pipelines SET lease_owner = NULL, lease_until = NULL WHERE id = $1',
      [id],
    )
    const runs = await runsOf(database, id)
    expect(runs[0]!.status).toBe('RUNNING')
    expect(await causeOf(id)).toMatchObject({
      code: 'QUEUE',
      detail: expect.stringContaining('1 run is in progress, and 0 requests are older'),
    })
  })

  it('DISABLED', async () => {
    const id = await aMart({ enabled: false })
    await aRunner(database, { env: ENV })
    expect((await causeOf(id)).code).toBe('DISABLED')
  })

  it('PAUSED', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 1 })
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 1)
    await setStatus(id, 'PAUSE_REQUESTED')
    await waitFor(async () => (await runsOf(database, id))[0]!.status === 'PAUSED', { what: 'the pause' })
    expect((await causeOf(id)).code).toBe('PAUSED')
  })

  it('PAUSING', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 20 })
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 0)
    await setStatus(id, 'PAUSE_REQUESTED')
    expect((await causeOf(id)).code).toBe('PAUSING')
  })

  it('FAILED, with the error of the run', async () => {
    const id = await aMart({ sourceQuery: 'SELECT id, 1 / (id - 3) AS name FROM content.item' })
    await aRunner(database, { env: ENV })
    await waitFor(async () => (await runsOf(database, id))[0]?.status === 'FAILED', { what: 'the failure' })
    expect(await causeOf(id)).toMatchObject({
      code: 'FAILED',
      detail: expect.stringContaining('division by zero'),
    })
  })

  it('BRAKE', async () => {
    const id = await aMart({ deletes: 'sweep' })
    await aRunner(database, { env: ENV })
    await loaded(id)
    await database.query('DELETE FROM content.item WHERE id > 2')
    await waitFor(async () => (await runsOf(database, id))[0]?.status === 'FAILED', { what: 'the failure' })
    expect((await causeOf(id)).code).toBe('BRAKE')
  })

  it('QUARANTINE', async () => {
    await database.query(
      "CREATE TABLE analytics.items (id integer PRIMARY KEY, name text CHECK (name <> 'name 7')); ALTER TABLE analytics.items OWNER TO vitrina_writer",
    )
    const id = await aMart({ quarantineLimit: 0 })
    await aRunner(database, { env: ENV })
    await waitFor(async () => (await runsOf(database, id))[0]?.status === 'FAILED', { what: 'the failure' })
    expect((await causeOf(id)).code).toBe('QUARANTINE')
  })

  it('RETRYING', async () => {
    const id = await aMart({ sourceQuery: 'SELECT id, name FROM content.item' })
    const serializing = `CREATE FUNCTION content.fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'try again' USING ERRCODE = 'serialization_failure'; END $$;
      CREATE TABLE analytics.items (id integer PRIMARY KEY, name text);
      CREATE TRIGGER fail BEFORE INSERT ON analytics.items FOR EACH ROW EXECUTE FUNCTION content.fail();
      ALTER TABLE analytics.items OWNER TO vitrina_writer`
    await database.query(serializing)
    await aRunner(database, { env: ENV, retryWaitsMs: [60_000] })
    await waitFor(async () => (await runsOf(database, id))[0]?.error_code != null, {
      what: 'the first error',
    })
    expect(await causeOf(id)).toMatchObject({
      code: 'RETRYING',
      detail: expect.stringContaining('try again'),
    })
  })

  it('RUNNER_SILENT', async () => {
    const id = await aMart()
    await aRunner(database, { env: { ...ENV, RUNNER_TAGS: 'other:1' } })
    await requestRun(database, id)
    await database.query(`SELECT etl.claim_run('dead-runner', 60, NULL, '{}', NULL);`)
    expect(await causeOf(id)).toMatchObject({
      code: 'RUNNER_SILENT',
      detail: expect.stringContaining('dead-runner'),
    })
  })

  it('LOCK in the target, with the session that holds it', async () => {
    const id = await aMart()
    await aRunner(database, { env: ENV })
    await loaded(id)
    await database.query("INSERT INTO content.item VALUES (21, 'new')")
    const pid = await whileLocked('analytics.items')
    // Until then, the breach of a slow machine has the cause of the last run.
    await waitFor(
      async () =>
        (
          await database.query(
            "SELECT FROM pg_locks WHERE NOT granted AND relation = 'analytics.items'::regclass",
          )
        ).length > 0,
      { what: 'the run to wait for the lock' },
    )
    const cause = await waitFor(
      async () => {
        const found = await freshnessOf(id)
        return found.cause !== null && (found.age_seconds ?? 0) > 3 && found.cause
      },
      { what: 'a breach' },
    )
    expect(cause).toMatchObject({ code: 'LOCK', detail: expect.stringContaining(`held by session ${pid}`) })
    expect(cause.detail).toContain('analytics.items')
    // Viewers read it: neither the user of that session nor its query.
    const user = decodeURIComponent(new URL(database.url).username)
    expect(JSON.stringify(cause)).not.toMatch(new RegExp(`LOCK TABLE|\\b${user}\\b`, 'i'))
  })

  it('LOCK in the source', async () => {
    await aRunner(database, { env: ENV })
    const pid = await whileLocked('content.item')
    const id = await aMart()
    await runningWith(id, 0)
    await waitFor(async () => (await freshnessOf(id)).cause?.code === 'LOCK', {
      what: 'the run to reach the table',
    })
    expect((await causeOf(id)).detail).toContain(`session ${pid}`)
  })

  it('LOCK for every member of a group, and for a mart that reads one', async () => {
    const env = { ALLOWED_SOURCE_SCHEMAS: 'content,analytics' }
    const ids: string[] = []
    for (const targetTable of ['analytics.items', 'analytics.others'])
      ids.push(await aMart({ targetTable, consistency: 'group' }))
    const follower = await aMart({
      sourceQuery: 'SELECT id, name FROM analytics.items',
      targetTable: 'analytics.readers',
    })
    await database.query(
      "SELECT etl.note_reads(id, ARRAY[NULL], ARRAY['content'], ARRAY['item'], true) FROM etl.etl_pipelines WHERE id = ANY ($1)",
      [ids],
    )
    await database.query("SELECT etl.note_reads($1, ARRAY[NULL], ARRAY['analytics'], ARRAY['items'], true)", [
      follower,
    ])
    await aRunner(database, { env })
    for (const id of [...ids, follower]) await loaded(id)
    const pid = await whileLocked('content.item')
    for (const id of ids)
      await waitFor(async () => (await freshnessOf(id)).cause?.code === 'LOCK', { what: `the lock of ${id}` })
    const cause = await waitFor(
      async () => {
        const found = (await freshnessOf(follower)).cause
        return found?.facts.root === 'LOCK' && found
      },
      { what: 'the lock of its upstream' },
    )
    expect(cause).toMatchObject({ code: 'UPSTREAM', detail: expect.stringContaining(`session ${pid}`) })
  })

  it('HELD_BACK, with the session that holds the checkpoint back', async () => {
    const id = await aMart({
      sourceQuery: 'SELECT id, name, modified FROM content.item',
      mode: 'incremental',
      incrementalKey: 'modified',
      freshness: '1h',
    })
    const writer = await database.client()
    await writer.query('BEGIN')
    const { rows } = await writer.query<{ pid: number }>(
      "INSERT INTO content.item VALUES (100, 'open') RETURNING pg_backend_pid() AS pid",
    )
    await database.query("INSERT INTO content.item VALUES (101, 'later')")
    const runner = await aRunner(database, { env: ENV })
    await loaded(id)
    await runner.stop()
    await aRunner(database, { env: { ...ENV, RUNNER_TAGS: 'other:1' } })
    // As if the next runs were as slow as a real one that reads much again.
    await database.query(
      "UPDATE etl.etl_freshness SET data_as_of = data_as_of - interval '2 hours', due_at = NULL",
    )
    const cause = await causeOf(id)
    const { held_back } = await freshnessOf(id)
    await writer.query('ROLLBACK')
    expect(cause).toMatchObject({ code: 'HELD_BACK', detail: expect.stringContaining(String(rows[0]!.pid)) })
    expect(held_back).toMatchObject({ pid: rows[0]!.pid, age_seconds: expect.any(Number) })
  })

  it('names that session also while the data is not too old', async () => {
    const id = await aMart({
      sourceQuery: 'SELECT id, name, modified FROM content.item',
      mode: 'incremental',
      incrementalKey: 'modified',
      freshness: '1h',
    })
    await aRunner(database, { env: ENV })
    await loaded(id)
    expect(await freshnessOf(id)).toMatchObject({ breached: false, held_back: null })
    const writer = await database.client()
    await writer.query('BEGIN')
    const { rows } = await writer.query<{ pid: number }>(
      "INSERT INTO content.item VALUES (100, 'open') RETURNING pg_backend_pid() AS pid",
    )
    await database.query("INSERT INTO content.item VALUES (101, 'later')")
    await runEnded(database, await requestRun(database, id))
    expect(await freshnessOf(id)).toMatchObject({
      ...{ breached: false, cause: null },
      held_back: { pid: rows[0]!.pid, age_seconds: expect.any(Number), reason: expect.any(String) },
    })
    await writer.query('ROLLBACK')
  })

  it('FIRST_LOAD', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 1 })
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 2)
    expect((await causeOf(id)).code).toBe('FIRST_LOAD')
  })

  it('NEVER_RUN, until a runner requests the first run', async () => {
    const runner = await aRunner(database, { env: ENV })
    await runner.stop()
    const id = await aMart()
    // Alive, and about to look at the pipelines.
    await database.query('UPDATE etl.etl_runners SET stopped_at = NULL, heartbeat_at = clock_timestamp()')
    expect((await causeOf(id)).code).toBe('NEVER_RUN')
  })

  it('CONNECTION_LOST, also while a runner tries again', async () => {
    const cable = await aCable(database.loginUrl('reader'))
    const id = await aMart({ sourceConnection: 'far', sourceQuery: SLOW, batchSize: 1 })
    const env = { ...ENV, VITRINA_CONNECTION_FAR_URL: cable.url }
    await aRunner(database, { env, way: 'rows' })
    await runningWith(id, 2)
    await cable.cut()
    await waitFor(async () => (await attemptsOf(id)).some(({ end }) => end === 'connection_lost'), {
      what: 'the loss',
    })
    const seen = new Set<string>()
    await waitFor(
      async () => {
        seen.add((await freshnessOf(id)).cause!.code)
        return (await attemptsOf(id)).length >= 4
      },
      { what: 'three more attempts' },
    )
    expect([...seen]).toEqual(['CONNECTION_LOST'])
    expect(await causeOf(id)).toMatchObject({
      detail: expect.stringContaining('The run lost its connection to a database: '),
      facts: {
        root: 'CONNECTION_LOST',
        error: expect.any(String),
        error_code: expect.stringMatching(/^VTR-/),
      },
    })
  })

  const attemptsOf = async (id: string) => {
    const [run] = await database.query<{ attempts: { end: string }[] }>(
      'SELECT attempts FROM etl.etl_runs WHERE pipeline_id = $1 ORDER BY requested_at DESC LIMIT 1',
      [id],
    )
    return run?.attempts ?? []
  }

  const afterFirstLoad = async (id: string) => {
    await database.query(
      "INSERT INTO etl.etl_freshness (pipeline_id, data_as_of) VALUES ($1, now() - interval '1 hour') ON CONFLICT (pipeline_id) DO UPDATE SET data_as_of = excluded.data_as_of",
      [id],
    )
  }

  it('SLOW_READ', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 1 })
    await afterFirstLoad(id)
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 2)
    expect(await causeOf(id)).toMatchObject({
      code: 'SLOW_READ',
      detail: expect.stringMatching(/spend \d+ % of their time on reading/),
    })
  })

  it.each(['upsert', 'replace'] as const)(
    'SLOW_READ in one database, with %s, also while the next run has no batch yet',
    async (fullStrategy) => {
      const id = await aMart({ sourceQuery: SLOW, fullStrategy })
      await afterFirstLoad(id)
      await aRunner(database, { env: ENV })
      await waitFor(async () => (await successes(id)) > 0, { what: 'a slow run' })
      await runningWith(id, 0)
      expect(await causeOf(id)).toMatchObject({
        code: 'SLOW_READ',
        detail: expect.stringMatching(
          /^The last run took \d+ s; its batches spend \d+ % of their time on reading/,
        ),
      })
    },
  )

  it('SLOW_WRITE in one database, for a mart with a slow trigger', async () => {
    await database.query(`
      CREATE FUNCTION content.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;
      CREATE TABLE analytics.items (id integer PRIMARY KEY, name text);
      CREATE TRIGGER slow BEFORE INSERT ON analytics.items FOR EACH ROW EXECUTE FUNCTION content.slow();
      ALTER TABLE analytics.items OWNER TO vitrina_writer`)
    const id = await aMart({ freshness: '1h' })
    await afterFirstLoad(id)
    // Before there is a runner, which could request the run itself.
    const run = await requestRun(database, id)
    const runner = await aRunner(database, { env: ENV })
    await runEnded(database, run)
    await runner.stop()
    await aRunner(database, { env: { ...ENV, RUNNER_TAGS: 'other:1' } })
    await database.query(
      "UPDATE etl.etl_freshness SET data_as_of = data_as_of - interval '2 hours', due_at = NULL",
    )
    expect(await causeOf(id)).toMatchObject({
      code: 'SLOW_WRITE',
      hint: expect.stringContaining('triggers'),
    })
  })

  it('SLOW_WRITE', async () => {
    await database.query(`
      CREATE FUNCTION content.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
      CREATE TABLE analytics.items (id integer PRIMARY KEY, name text);
      CREATE TRIGGER slow BEFORE INSERT ON analytics.items FOR EACH ROW EXECUTE FUNCTION content.slow();
      ALTER TABLE analytics.items OWNER TO vitrina_writer`)
    const id = await aMart({ batchSize: 1 })
    await afterFirstLoad(id)
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 2)
    expect((await causeOf(id)).code).toBe('SLOW_WRITE')
  })

  it('SLOW_TRANSFORM', async () => {
    const { folder } = await someTasks({
      'python/slow.py': `import time
from vitrina import task

@task("slow")
def slow(rows):
    time.sleep(0.3)
    return rows
`,
    })
    const id = await aMart({
      batchSize: 1,
      type: 'PYTHON',
      tasks: [
        { taskType: 'SQL', body: 'SELECT id, name FROM content.item' },
        { taskType: 'PYTHON', body: 'slow', targetTable: 'analytics.items' },
      ],
    })
    await afterFirstLoad(id)
    await aRunner(database, { env: { ...ENV, ...taskSettings(folder) } })
    await runningWith(id, 2)
    expect((await causeOf(id)).code).toBe('SLOW_TRANSFORM')
  })

  it('SLOW_CHECKPOINT', async () => {
    await database.query(`
      CREATE FUNCTION content.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE UPDATE ON etl.etl_state FOR EACH ROW WHEN (NEW.ver > OLD.ver) EXECUTE FUNCTION content.slow()`)
    const id = await aMart({ batchSize: 1 })
    await afterFirstLoad(id)
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 2)
    expect(await causeOf(id)).toMatchObject({
      code: 'SLOW_CHECKPOINT',
      hint: expect.stringContaining('batch_size'),
    })
  })

  it('SLOW_FIRST_BATCH', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 1000 })
    await afterFirstLoad(id)
    await aRunner(database, { env: ENV, way: 'rows' })
    await runningWith(id, 0)
    expect((await causeOf(id)).code).toBe('SLOW_FIRST_BATCH')
  })

  it('CANCELLED', async () => {
    const id = await aMart({ sourceQuery: SLOW, batchSize: 1, freshness: '5s' })
    await aRunner(database, { env: ENV, way: 'rows' })
    // The source computes all rows before the first batch; then the batches take milliseconds.
    await runningWith(id, 0)
    await cancelRun(id)
    expect((await causeOf(id)).code).toBe('CANCELLED')
  })
})

describe('A breach of a mart that follows the changes of its source names', () => {
  let server: LogicalServer
  beforeAll(async () => {
    server = await aLogicalServer()
  })
  afterAll(() => server?.stop())

  /** Loaded, with what captures behind a cable. */
  async function aFollowingMart() {
    const source = await aDatabase({ migrated: false, server })
    onTestFinished(() => source.drop())
    await source.query('CREATE SCHEMA content; CREATE TABLE content.film (id int PRIMARY KEY, title text)')
    await prepareSource(database, source, { connection: 'src', tables: ['content.film'] })
    const cable = await aCable(source.url)
    const id = await aMart({
      ...{ sourceConnection: 'src', sourceQuery: 'SELECT id, title FROM content.film' },
      ...{ mode: 'incremental', capture: 'wal', freshness: '2s' },
    })
    const env = { VITRINA_CONNECTION_SRC_URL: source.url, VITRINA_CONNECTION_SRC_CAPTURE_URL: cable.url }
    await aRunner(database, { env: { ...ENV, ...env } })
    await loaded(id)
    const insert = () => source.query("INSERT INTO content.film VALUES (1, 'a change to wait for')")
    return { id, cable, insert }
  }

  it('CAPTURE_FAILING, with the error of what captures them', async () => {
    const { id, cable, insert } = await aFollowingMart()
    await cable.cut()
    await insert()
    await waitFor(
      async () =>
        (await database.query('SELECT FROM etl.etl_change_heads WHERE error IS NOT NULL')).length > 0,
      {
        what: 'the error',
      },
    )
    const cause = await waitFor(
      async () => {
        const found = (await freshnessOf(id)).cause
        return found?.code === 'CAPTURE_FAILING' && found
      },
      { what: 'a run that waits for the change' },
    )
    expect(cause.detail).toMatch(/cannot be read: .*connection/i)
  })

  it('CAPTURE_STOPPED, if the runner that captures them is frozen', async () => {
    const { id, insert } = await aFollowingMart()
    // As it leaves them: its lease is valid for a while, and no other runner captures.
    await database.query(
      "UPDATE etl.etl_change_heads SET owner = 'frozen-runner', fence = fence + 1, leased_until = now() + interval '1 hour'",
    )
    await insert()
    // A run that is not claimed yet has another cause.
    await waitFor(async () => (await freshnessOf(id)).cause?.code === 'CAPTURE_STOPPED', {
      what: 'a run that waits for the change',
    })
  })
})

it('a breach is noted once by several APIs, sent with its cause, and noted again when the data is fresh', async () => {
  const other = anApi(database.loginUrl('meta'))
  await other.app.ready()
  await api.app.ready()
  await database.query(
    "INSERT INTO etl.etl_notification_rules (name, events, channel) VALUES ('all', '{stale,recovered}', 'somewhere')",
  )
  const id = await aMart({ freshness: '20s' })
  const outbox = () =>
    database.query<{ event: string; group_key: string; data: Record<string, unknown> }>(
      'SELECT event, group_key, data FROM etl.etl_outbox ORDER BY id',
    )
  await database.query("UPDATE etl.etl_pipelines SET created_at = now() - interval '1 hour'")
  await waitFor(async () => (await outbox()).length > 0, { what: 'the breach to be noted' })
  await aRunner(database, { env: ENV })
  await waitFor(async () => (await outbox()).some(({ event }) => event === 'recovered'), {
    what: 'the recovery',
  })
  expect(await outbox()).toMatchObject([
    {
      event: 'stale',
      group_key: 'NO_RUNNER',
      data: { code: 'NO_RUNNER', budget_seconds: 20, data_as_of: null },
    },
    { event: 'recovered', data: { data_as_of: expect.any(String) } },
  ])
  const events = await database.query<{ data: object }>(
    "SELECT data FROM etl.etl_events WHERE kind = 'pipeline.freshness' ORDER BY at",
  )
  expect(events.map(({ data }) => data)).toEqual([
    { breached: true, cause: 'NO_RUNNER' },
    { breached: false, cause: null },
  ])
  expect(await freshnessOf(id)).toMatchObject({ breached: false, cause: null })
})

describe('Marts that read marts', () => {
  /** items (a source table) → items → names → lengths; only the last one has a limit. */
  async function aChain(freshness: string): Promise<{ items: string; names: string; lengths: string }> {
    const { id: items } = await aPipeline(database, {
      ...{
        name: 'items',
        sourceQuery: 'SELECT id, name FROM content.item',
        targetTable: 'analytics.items',
        keyColumns: ['id'],
      },
    })
    const { id: names } = await aPipeline(database, {
      ...{
        name: 'names',
        sourceQuery: 'SELECT id, upper(name) AS name FROM analytics.items',
        targetTable: 'analytics.names',
      },
      keyColumns: ['id'],
    })
    const { id: lengths } = await aPipeline(database, {
      ...{
        name: 'lengths',
        sourceQuery: 'SELECT id, length(name) AS length FROM analytics.names',
        targetTable: 'analytics.lengths',
      },
      ...{ keyColumns: ['id'], freshness },
    })
    return { items, names, lengths }
  }

  const MARTS_ENV = { ALLOWED_SOURCE_SCHEMAS: 'content,analytics' }

  it('are kept fresh by runs of the first one, and the others run only if rows changed', async () => {
    const { items, names, lengths } = await aChain('8s')
    await api.app.ready()
    await waitFor(async () => (await freshnessOf(items)).needed_by === 'names', {
      what: 'the need to be inherited',
    })
    const need = await freshnessOf(items)
    expect(need.needed_seconds).toBeLessThan(8)
    expect(need).toMatchObject({ budget_seconds: null, breached: false })
    expect(await freshnessOf(names)).toMatchObject({ needed_by: 'lengths', due_at: null })
    // Nothing but the limit of the last one asks for any of these runs, and none comes before the table that it reads.
    await aRunner(database, { env: MARTS_ENV })
    await waitFor(async () => (await successes(lengths)) >= 1, { what: 'the last mart to be loaded' })
    expect((await runsOf(database, lengths)).map(({ status }) => status)).toEqual(['SUCCESS'])
    const before = [await successes(names), await successes(lengths)]
    const seen = (await freshnessOf(lengths)).data_as_of!
    // Its data becomes newer although it does not run: the first mart was looked at, and nothing had changed.
    await waitFor(async () => (await freshnessOf(lengths)).data_as_of! > seen, {
      what: 'newer data without a run',
    })
    expect([await successes(names), await successes(lengths)]).toEqual(before)
    await database.query("UPDATE content.item SET name = 'a longer name' WHERE id = 3")
    await waitFor(
      async () =>
        (await database.query('SELECT FROM analytics.lengths WHERE id = 3 AND length = 13')).length === 1,
      { what: 'the change to arrive' },
    )
  })

  it.each([
    ['while an API and a runner are running', true],
    ['while no API is running', false],
  ])('are loaded in order if they are inserted %s', async (_when, hasApi) => {
    if (hasApi) {
      await api.app.ready()
      // Its first round is over before the pipelines exist.
      await waitFor(async () => (await api.get('/graph')).statusCode === 200, { what: 'the API' })
    }
    await aRunner(database, { env: MARTS_ENV })
    const { items, names, lengths } = await aChain('1h')
    await waitFor(
      async () => (await runsOf(database, lengths)).some(({ status }) => status !== 'REQUESTED'),
      {
        what: 'the run of the last mart',
      },
    )
    for (const id of [items, names, lengths])
      await waitFor(async () => (await successes(id)) > 0, { what: id })
    for (const id of [items, names, lengths])
      expect((await runsOf(database, id)).map(({ status }) => status)).not.toContain('FAILED')
    expect(await database.query('SELECT count(*)::int AS rows FROM analytics.lengths')).toEqual([
      { rows: 20 },
    ])
  })

  it('are loaded in order although the first one has no rows, while no API is running', async () => {
    await database.query('DELETE FROM content.item')
    await aRunner(database, { env: MARTS_ENV })
    const { lengths } = await aChain('1h')
    await waitFor(async () => (await runsOf(database, lengths))[0]?.status === 'SUCCESS', {
      what: 'the last mart to be loaded',
    })
  })

  it('are not due before the mart that they read is filled, although no API has looked at them', async () => {
    const { items, names, lengths } = await aChain('1h')
    const dueOf = async (id: string) => {
      const [row] = await database.query<{ due_at: Date | null }>(
        'SELECT due_at FROM etl.etl_freshness WHERE pipeline_id = $1',
        [id],
      )
      return row?.due_at ?? null
    }
    expect(await dueOf(lengths)).not.toBeNull()
    const reads = (id: string, schema: string, table: string) =>
      database.query('SELECT etl.note_reads($1, ARRAY[NULL], ARRAY[$2], ARRAY[$3], true)', [
        id,
        schema,
        table,
      ])
    await reads(lengths, 'analytics', 'names')
    expect(await dueOf(lengths)).toBeNull()
    await reads(names, 'analytics', 'items')
    await reads(items, 'content', 'item')
    expect(await dueOf(lengths)).toBeNull()
  })

  it('are not due before the mart that they read is filled, also if its pipeline is created later', async () => {
    const reader = await aMart({ sourceQuery: 'SELECT id FROM analytics.later', freshness: '1h' })
    await database.query("SELECT etl.note_reads($1, ARRAY[NULL], ARRAY['analytics'], ARRAY['later'], true)", [
      reader,
    ])
    const dueOf = async () =>
      (await database.query('SELECT due_at FROM etl.etl_freshness WHERE pipeline_id = $1', [reader]))[0]!
        .due_at
    expect(await dueOf()).not.toBeNull()
    await aMart({ targetTable: 'analytics.later', freshness: null })
    expect(await dueOf()).toBeNull()
  })

  it('UPSTREAM: a breach names the mart that is too old, and why', async () => {
    await api.app.ready()
    const { items, names, lengths } = await aChain('2s')
    await aRunner(database, { env: MARTS_ENV })
    for (const id of [items, names, lengths]) {
      // Refused while a run that the runner has requested itself is in progress.
      const run = await waitFor(() => requestRun(database, id), { what: 'the request' })
      await runEnded(database, run)
    }
    await database.query('ALTER TABLE analytics.items DROP COLUMN name')
    await waitFor(async () => (await runsOf(database, items))[0]!.status === 'FAILED', {
      what: 'the failure',
    })
    const told =
      /^It follows names, whose data is too old: It follows items, whose data is too old: The last run failed/
    // Before that, the data of a mart between them may be new enough, or its run in progress.
    const cause = await waitFor(
      async () => {
        const { cause: found } = await freshnessOf(lengths)
        expect(found?.detail).toMatch(told)
        return found
      },
      { what: 'the breach and its cause' },
    )
    expect(cause.code).toBe('UPSTREAM')
  })
})
