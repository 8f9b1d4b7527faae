import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { runById, runEnded, runsOf } from '../../../tests/support/runs.js'
import { waitFor } from '../../../tests/support/wait.js'
import { grantRoles } from '../../store/roles.js'

const SCHEMAS = ['content', 'ugc', 'analytics']

let database: TestDatabase
let api: TestApi
beforeEach(async () => {
  database = await aDatabase({ cinema: true })
  await grantRoles({ administratorUrl: database.url, sourceSchemas: SCHEMAS, targetSchemas: ['analytics'] })
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    sourceSchemas: SCHEMAS,
    connections: ['same'],
    urls: new Map([['same', database.loginUrl('reader')]]),
  })
})
afterEach(() => api.close())

interface Wire {
  readonly id: string
}

/** Each mart has the rows of its sources. */
async function create(name: string, sources: readonly string[], more: object = {}): Promise<string> {
  const parts = sources.map((source) => `SELECT id, n FROM ${source}`)
  const answer = await api.post('/pipelines', {
    name,
    source_query: `SELECT id, max(n) AS n FROM (${parts.join(' UNION ALL ')}) parts GROUP BY id`,
    target_table: `analytics.${name}`,
    key_columns: ['id'],
    full_strategy: 'replace',
    ...more,
  })
  expect(answer.json()).toMatchObject({ name })
  return answer.json<Wire>().id
}

async function diamond(): Promise<Record<'a' | 'b' | 'c' | 'd', string>> {
  await database.query('CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL)')
  await database.query('INSERT INTO content.numbers SELECT i, 0 FROM generate_series(1, 20) i')
  await database.query('GRANT SELECT ON content.numbers TO vitrina_reader')
  return {
    a: await create('a', ['content.numbers']),
    b: await create('b', ['analytics.a']),
    c: await create('c', ['analytics.a']),
    d: await create('d', ['analytics.b', 'analytics.c']),
  }
}

const runner = () => aRunner(database, { env: { ALLOWED_SOURCE_SCHEMAS: SCHEMAS.join(',') } })

async function ended(id: string, count: number) {
  return waitFor(
    async () => {
      const runs = await runsOf(database, id)
      return runs.length === count && runs.every(({ status }) => status === 'SUCCESS') ? runs : null
    },
    { what: `${count} successful runs of ${id}` },
  )
}

const quiet = () =>
  waitFor(
    async () =>
      (await database.query('SELECT FROM etl.etl_due')).length === 0 &&
      (await database.query("SELECT FROM etl.etl_pipelines WHERE status <> 'IDLE'")).length === 0,
    {
      what: 'everything to be done',
    },
  )

const names = (answer: { json(): { runs: { pipeline_name: string }[] } }) =>
  answer.json().runs.map((run) => run.pipeline_name)

describe('GET /graph', () => {
  it('shows edges of pipelines whose marts do not exist yet, and what is due', async () => {
    const { a, b, c, d } = await diamond()
    const { nodes, edges, problems } = (await api.get('/graph')).json()
    expect(nodes.map((node: { name: string }) => node.name)).toEqual(['a', 'b', 'c', 'd'])
    expect(
      new Set(edges.map(({ from, to, kind, via }: Record<string, string>) => `${from} ${to} ${kind} ${via}`)),
    ).toEqual(
      new Set([
        `${a} ${b} lineage analytics.a`,
        `${a} ${c} lineage analytics.a`,
        `${b} ${d} lineage analytics.b`,
        `${c} ${d} lineage analytics.c`,
      ]),
    )
    expect(problems).toEqual([])
    await database.query('SELECT etl.mark_followers($1, now())', [a])
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [b])
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE id = $1", [b])
    await database.query("UPDATE etl.etl_pipelines SET status = 'FAILED' WHERE id = $1", [b])
    await database.query('SELECT etl.mark_followers($1, now())', [c])
    const after = (await api.get('/graph')).json()
    expect(after.nodes.find((node: Wire) => node.id === d)).toMatchObject({
      due: {
        changed: ['c'],
        run_id: null,
        waiting: {
          code: 'UPSTREAM_FAILED',
          upstream: 'b',
          detail: 'Pipeline "b", which it follows, failed.',
        },
      },
    })
    expect(after.nodes.find((node: Wire) => node.id === b)).toMatchObject({
      status: 'FAILED',
      last_run: { status: 'FAILED' },
    })
    const { due } = (await api.get(`/pipelines/${d}/status`)).json()
    expect(due.waiting).toMatchObject({
      code: 'UPSTREAM_FAILED',
      hint: expect.stringContaining('on_upstream_failure'),
    })
  })

  it('finds the table behind a view, and a mart that is read under another name of its database', async () => {
    await database.query('CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL)')
    await database.query('CREATE TABLE analytics.a (id int PRIMARY KEY, n int NOT NULL)')
    await database.query('CREATE VIEW content.shown AS SELECT * FROM analytics.a')
    await database.query('GRANT SELECT ON ALL TABLES IN SCHEMA content, analytics TO vitrina_reader')
    const a = await create('a', ['content.numbers'])
    const b = await create('b', ['content.shown'], { source_connection: 'same' })
    const { edges } = (await api.get('/graph')).json()
    expect(edges).toEqual([{ from: a, to: b, kind: 'lineage', via: 'analytics.a' }])
  })

  it('adds the edges of pipelines that were created with SQL', async () => {
    const { a, b } = await diamond()
    await database.query('DELETE FROM etl.etl_pipeline_reads')
    await database.query('DELETE FROM etl.etl_pipeline_edges')
    const other = anApi(database.loginUrl('meta'), {
      readerUrl: database.loginUrl('reader'),
      sourceSchemas: SCHEMAS,
    })
    try {
      const found = await waitFor(
        async () => {
          const { edges } = (await other.get('/graph')).json()
          return edges.length === 4 && edges
        },
        { what: 'four edges' },
      )
      expect(found).toContainEqual({ from: a, to: b, kind: 'lineage', via: 'analytics.a' })
    } finally {
      await other.close()
    }
  })

  it('has the edges of pipelines that are inserted and changed with SQL while the API is running', async () => {
    await database.query('CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL)')
    await database.query('GRANT SELECT ON content.numbers TO vitrina_reader')
    const edges = async () =>
      ((await api.get('/graph')).json().edges as { from: string; to: string }[]).map(
        ({ from, to }) => `${from} ${to}`,
      )
    const a = await create('a', ['content.numbers'])
    const b = await create('b', ['content.numbers'])
    const mart = { keyColumns: ['id'], sourceQuery: 'SELECT id, n FROM analytics.a' }
    const { id: c } = await aPipeline(database, { ...mart, targetTable: 'analytics.c' })
    await waitFor(async () => (await edges()).includes(`${a} ${c}`), { what: 'the edge of the new pipeline' })
    await database.query(
      "UPDATE etl.etl_pipelines SET source_query = 'SELECT id, n FROM analytics.b' WHERE id = $1",
      [c],
    )
    await waitFor(async () => (await edges()).includes(`${b} ${c}`), { what: 'the edge of the new query' })
    expect(await edges()).toEqual([`${b} ${c}`])
    // The round that found the others has listed the pipelines before this one was there.
    const { id: d } = await aPipeline(database, { ...mart, targetTable: 'analytics.d' })
    await waitFor(async () => (await edges()).includes(`${a} ${d}`), { what: 'the edge of a later pipeline' })
  })
})

describe('saving a pipeline', () => {
  it('refuses a cycle with its path, on creation and on change, and keeps what was there', async () => {
    const { a } = await diamond()
    const changed = await api.patch(`/pipelines/${a}`, { source_query: 'SELECT id, n FROM analytics.d' })
    expect(changed.statusCode).toBe(422)
    expect(changed.json()).toMatchObject({
      code: 'ORDER_CYCLE',
      detail: expect.stringContaining('a → b → d → a'),
      hint: expect.stringContaining('none'),
    })
    const { source_query } = (await api.get(`/pipelines/${a}`)).json()
    expect(source_query).toContain('content.numbers')
    await api.patch(`/pipelines/${a}`, { source_query: 'SELECT id, n FROM analytics.e' })
    const created = await api.post('/pipelines', {
      name: 'e',
      source_query: 'SELECT id, n FROM analytics.d',
      target_table: 'analytics.e',
      key_columns: ['id'],
    })
    expect(created.json()).toMatchObject({ code: 'ORDER_CYCLE' })
    expect((await api.get('/graph')).json().nodes).toHaveLength(4)
    const declared = await api.patch(`/pipelines/${a}`, { after: ['d'] })
    expect(declared.json()).toMatchObject({ code: 'ORDER_CYCLE' })
    const apart = await api.patch(`/pipelines/${a}`, {
      source_query: 'SELECT id, n FROM analytics.d',
      after: 'none',
    })
    expect(apart.statusCode).toBe(200)
    expect(apart.json().after).toBe('none')
  })

  it('accepts auto, none and names, and refuses names that do not exist', async () => {
    const { a } = await diamond()
    const unknown = await api.patch(`/pipelines/${a}`, { after: ['nothing'] })
    expect([unknown.statusCode, unknown.json().code]).toEqual([422, 'AFTER_UNKNOWN'])
    const wrong = await api.patch(`/pipelines/${a}`, { after: 'd' })
    expect(wrong.json()).toMatchObject({
      errors: [{ field: 'after', message: expect.stringContaining('list of names') }],
    })
    const { id } = (
      await api.post('/pipelines', {
        name: 'x',
        source_query: 'SELECT 1 AS id',
        target_table: 'analytics.x',
        key_columns: ['id'],
        after: ['d'],
      })
    ).json()
    expect((await api.get(`/pipelines/${id}`)).json()).toMatchObject({
      after: ['d'],
      on_upstream_failure: 'wait',
    })
    expect((await api.patch(`/pipelines/${id}`, { after: null })).json().after).toBe('auto')
    expect((await api.patch(`/pipelines/${id}`, { after: [] })).json().after).toBe('none')
  })
})

describe('marts of marts', () => {
  it('follow each other with real runs: once after a change, not at all without one', async () => {
    const { a, b, c, d } = await diamond()
    await runner()
    const first = await api.post(`/pipelines/${a}/run`)
    await runEnded(database, first.json().run_id)
    await ended(d, 1)
    expect(await database.query('SELECT count(*)::int AS rows FROM analytics.d')).toEqual([{ rows: 20 }])
    expect((await runsOf(database, d))[0]).toMatchObject({ trigger: 'upstream' })
    await quiet()
    await runEnded(database, (await api.post(`/pipelines/${a}/run`)).json().run_id)
    await database.query('UPDATE content.numbers SET n = 7')
    await runEnded(database, (await api.post(`/pipelines/${a}/run`)).json().run_id)
    await ended(d, 2)
    await quiet()
    expect(
      [await runsOf(database, b), await runsOf(database, c), await runsOf(database, d)].map(
        (runs) => runs.length,
      ),
    ).toEqual([2, 2, 2])
    expect(await database.query('SELECT DISTINCT n FROM analytics.d')).toEqual([{ n: 7 }])
  })

  it('can be read by the reader, and no longer when the schema is not a source', async () => {
    const client = await database.client(database.loginUrl('writer'))
    await client.query('CREATE TABLE analytics.fresh (id int)')
    const reader = await database.client(database.loginUrl('reader'))
    expect((await reader.query('SELECT FROM analytics.fresh')).rowCount).toBe(0)
    await grantRoles({
      administratorUrl: database.url,
      sourceSchemas: ['content'],
      targetSchemas: ['analytics'],
    })
    await client.query('CREATE TABLE analytics.later (id int)')
    await expect(reader.query('SELECT FROM analytics.fresh')).rejects.toMatchObject({ code: '42501' })
    await database.query('GRANT USAGE ON SCHEMA analytics TO vitrina_reader')
    await expect(reader.query('SELECT FROM analytics.later')).rejects.toMatchObject({ code: '42501' })
  })
})

const wave = (id: string, direction: string, headers: Record<string, string> = {}, body: object = {}) =>
  api.call({
    method: 'POST',
    url: `/pipelines/${id}/run?with=${direction}`,
    payload: body,
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  })

describe('POST /pipelines/{id}/run?with=', () => {
  it('runs every pipeline of the wave once, in order, also when nothing changed', async () => {
    const { a, b, c, d } = await diamond()
    await runner()
    for (const count of [1, 2]) {
      const answer = await wave(a, 'downstream')
      expect(answer.statusCode).toBe(202)
      expect(names(answer)).toEqual(['a', 'b', 'c', 'd'])
      const runs = answer.json().runs as { id: string }[]
      expect(answer.json().run_id).toBe(runs[0]!.id)
      for (const { id } of runs) await runEnded(database, id)
      await quiet()
      for (const id of [a, b, c, d]) expect(await runsOf(database, id)).toHaveLength(count)
    }
    const order = await database.query<{ name: string }>(
      'SELECT p.name FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id ORDER BY r.started_at DESC LIMIT 4',
    )
    expect([order[0]!.name, order[3]!.name]).toEqual(['d', 'a'])
    const late = await database.query(
      `SELECT FROM etl.pipeline_edges e JOIN etl.etl_runs u ON u.pipeline_id = e.upstream_id JOIN etl.etl_runs d ON d.pipeline_id = e.downstream_id
        WHERE d.started_at < u.finished_at AND u.started_at < d.finished_at`,
    )
    expect(late).toEqual([])
  })

  it('builds what a pipeline reads first, then the pipeline: upstream', async () => {
    const { d } = await diamond()
    await runner()
    const answer = await wave(d, 'upstream')
    expect(names(answer)).toEqual(['a', 'b', 'c', 'd'])
    expect((await runEnded(database, answer.json().run_id)).status).toBe('SUCCESS')
    expect(await database.query('SELECT count(*)::int AS rows FROM analytics.d')).toEqual([{ rows: 20 }])
  })

  it('includes both directions, but not the siblings: all', async () => {
    const { b } = await diamond()
    expect(names(await wave(b, 'all'))).toEqual(['a', 'b', 'd'])
  })

  it('returns the planned runs before they start, with what they wait for', async () => {
    const { d } = await diamond()
    const answer = await wave(d, 'upstream')
    const run = await api.get(`/runs/${answer.json().run_id}`)
    expect(run.json()).toMatchObject({
      status: 'REQUESTED',
      trigger: 'api',
      waiting: { code: 'UPSTREAM_RUNS' },
    })
    expect((await api.get(`/pipelines/${d}/status`)).json()).toMatchObject({
      status: 'IDLE',
      current_run: { id: answer.json().run_id },
    })
  })

  // For each run of a wave of 300 it took 48 s, in which GET /runs and the request of the wave were cancelled.
  it('finds out once for a list why its runs wait, however many they are', async () => {
    const { a } = await diamond()
    await wave(a, 'downstream')
    const { pathname } = new URL(database.url)
    await database.query(`ALTER DATABASE "${pathname.slice(1)}" SET track_functions = 'all'`)
    const own = anApi(database.loginUrl('meta'))
    const { items } = (await own.get('/runs')).json()
    expect(items.map(({ waiting }: { waiting: { code: string } | null }) => waiting?.code ?? null)).toEqual(
      expect.arrayContaining(['UPSTREAM_RUNS', 'UPSTREAM_RUNS', 'UPSTREAM_RUNS']),
    )
    const calls = await waitFor(
      async () => {
        const [row] = await database.query<{ calls: number | null }>(
          "SELECT sum(calls)::int AS calls FROM pg_stat_user_functions WHERE funcname IN ('pending_pipelines', 'why_held')",
        )
        return row!.calls || null
      },
      { what: 'the statistics of the statement' },
    )
    expect(calls).toBe(1)
  })

  it('returns the same runs again while they are planned, and for the same key', async () => {
    const { d } = await diamond()
    const key = { 'idempotency-key': randomUUID() }
    const first = await wave(d, 'upstream', key)
    const again = await wave(d, 'upstream')
    const ids = (answer: typeof first) => (answer.json().runs as Wire[]).map(({ id }) => id)
    expect(ids(again)).toEqual(ids(first))
    await runner()
    await runEnded(database, first.json().run_id)
    const replay = await wave(d, 'upstream', key)
    expect([replay.headers['idempotent-replay'], ids(replay)]).toEqual(['true', ids(first)])
    const other = await wave(d, 'downstream', key)
    expect(other.json().code).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  it('cancels a run that has not started, and those after it run', async () => {
    const { a, b, c, d } = await diamond()
    const answer = await wave(a, 'downstream')
    const [, planned] = answer.json().runs as { id: string; pipeline_name: string }[]
    expect(planned!.pipeline_name).toBe('b')
    expect((await api.post(`/runs/${planned!.id}/cancel`)).json().status).toBe('CANCELLED')
    await database.query(
      'CREATE TABLE analytics.b (id int PRIMARY KEY, n int); GRANT ALL ON analytics.b TO vitrina_writer, vitrina_reader',
    )
    await runner()
    await quiet()
    expect((await runById(database, planned!.id)).status).toBe('CANCELLED')
    for (const id of [a, c, d]) expect((await runsOf(database, id))[0]!.status).toBe('SUCCESS')
    // a changed rows, so that b runs by its own.
    expect((await runsOf(database, b)).map(({ status }) => status).sort()).toEqual(['CANCELLED', 'SUCCESS'])
  })

  it('holds the rest back when one fails, and continues once it has succeeded', async () => {
    const { a, b, c, d } = await diamond()
    await runner()
    await database.query('CREATE TABLE analytics.b (other int)')
    await database.query('ALTER TABLE analytics.b OWNER TO vitrina_writer')
    const answer = await wave(a, 'downstream')
    const failed = (answer.json().runs as { id: string; pipeline_name: string }[]).find(
      (run) => run.pipeline_name === 'b',
    )!
    expect((await runEnded(database, failed.id)).status).toBe('FAILED')
    await waitFor(async () => (await runsOf(database, c))[0]?.status === 'SUCCESS', { what: 'c' })
    const last = (answer.json().runs as { id: string; pipeline_name: string }[]).find(
      (run) => run.pipeline_name === 'd',
    )!
    expect((await api.get(`/runs/${last.id}`)).json()).toMatchObject({
      status: 'REQUESTED',
      waiting: { code: 'UPSTREAM_FAILED', detail: expect.stringContaining('"b"') },
    })
    await database.query('DROP TABLE analytics.b')
    await api.post(`/pipelines/${b}/run`)
    expect((await runEnded(database, last.id)).status).toBe('SUCCESS')
    expect(await runsOf(database, d)).toHaveLength(1)
  })

  it('refuses a disabled pipeline, leaves out disabled followers, and names a run with another reference', async () => {
    const { a, b, d } = await diamond()
    await api.post(`/pipelines/${b}/disable`)
    expect(names(await wave(a, 'downstream'))).toEqual(['a', 'c', 'd'])
    expect((await wave(b, 'all')).json().code).toBe('PIPELINE_DISABLED')
    expect((await wave(a, 'sideways')).statusCode).toBe(422)
    const other = await wave(d, 'upstream', {}, { external_ref: 'mine' })
    expect([other.statusCode, other.json().code]).toEqual([409, 'RUN_ACTIVE'])
  })
})

/** A chain in one group, and a sibling of its first member. */
async function group(): Promise<Record<'a' | 'b' | 'c', string>> {
  await database.query('CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL)')
  await database.query('INSERT INTO content.numbers SELECT i, 0 FROM generate_series(1, 20) i')
  await database.query('GRANT SELECT ON content.numbers TO vitrina_reader')
  const together = { consistency: 'group' }
  return {
    a: await create('a', ['content.numbers'], together),
    b: await create('b', ['analytics.a'], together),
    c: await create('c', ['content.numbers'], together),
  }
}

const statusesOf = async (runs: readonly string[]) =>
  Promise.all(runs.map(async (id) => (await runById(database, id)).status))
const currentRuns = async (ids: Record<string, string>): Promise<string[]> =>
  (
    await database.query<{ id: string }>(
      'SELECT current_run_id AS id FROM etl.etl_pipelines WHERE id = ANY ($1) ORDER BY name',
      [Object.values(ids)],
    )
  ).map(({ id }) => id)

describe('pipelines with consistency: group', () => {
  it('are shown with the members of their group', async () => {
    const { a, b } = await group()
    const { nodes } = (await api.get('/graph')).json()
    expect(nodes.map((node: { group: unknown }) => node.group)).toEqual(
      Array.from({ length: 3 }, () => ['a', 'c', 'b']),
    )
    expect((await api.get(`/pipelines/${a}/status`)).json().group).toEqual(['a', 'c', 'b'])
    await api.patch(`/pipelines/${b}`, { consistency: 'none' })
    expect((await api.get(`/pipelines/${b}/status`)).json().group).toBeNull()
    expect((await api.get(`/pipelines/${a}/status`)).json().group).toEqual(['a', 'c'])
  })

  it('report a member that would not see the new rows of another one', async () => {
    await group()
    const d = await create('d', ['analytics.a'], { consistency: 'group', source_connection: 'same' })
    const { nodes, problems } = (await api.get('/graph')).json()
    expect(nodes.at(-1)).toMatchObject({ name: 'd', group: null })
    expect(problems).toEqual([
      {
        ...{ pipeline_id: d, code: 'GROUP_APART', about: 'analytics.a' },
        detail: expect.stringContaining('over another connection'),
      },
    ])
  })

  it('run together, each with its own run, whichever is requested and in a wave', async () => {
    const { b, c } = await group()
    await runner()
    const answer = await wave(c, 'all')
    expect(names(answer)).toEqual(['a', 'c', 'b'])
    for (const { id } of answer.json().runs as Wire[])
      expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 20 })
    await database.query('UPDATE content.numbers SET n = 1')
    const { run_id } = (await api.post(`/pipelines/${c}/run`)).json()
    await runEnded(database, run_id)
    const runs = await database.query(
      `SELECT r.trigger, r.rows_updated::int AS updated FROM etl.etl_runs r WHERE r.group_run =
         (SELECT group_run FROM etl.etl_runs WHERE id = $1) ORDER BY 1`,
      [run_id],
    )
    expect(runs).toEqual([
      { trigger: 'api', updated: 20 },
      { trigger: 'group', updated: 20 },
      { trigger: 'group', updated: 20 },
    ])
    expect(await database.query('SELECT DISTINCT n FROM analytics.b')).toEqual([{ n: 1 }])
    await quiet()
    expect(await runsOf(database, b)).toHaveLength(2)
  })

  it.each([false, true])(
    'are cancelled together while they wait and while they run, force: %s',
    async (force) => {
      const ids = await group()
      const cancel = (id: string) => api.post(`/runs/${id}/cancel${force ? '?force=true' : ''}`)
      await api.post(`/pipelines/${ids.a}/run`)
      await database.query('SELECT etl.request_due_runs()')
      const waiting = await currentRuns(ids)
      await cancel(waiting[1]!)
      expect(await statusesOf(waiting)).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED'])
      await runner()
      await runEnded(database, (await api.post(`/pipelines/${ids.a}/run`)).json().run_id)
      const lock = await database.client()
      await lock.query('BEGIN; LOCK TABLE analytics.b IN SHARE MODE')
      await database.query('UPDATE content.numbers SET n = 2')
      await api.post(`/pipelines/${ids.a}/run`)
      await waitFor(
        async () =>
          (
            await database.query(
              "SELECT FROM pg_locks WHERE NOT granted AND relation = 'analytics.b'::regclass",
            )
          ).length > 0,
        { what: 'the group to wait for the lock' },
      )
      const running = await currentRuns(ids)
      await cancel(running[0]!)
      if (force) expect(new Set(await statusesOf(running))).toEqual(new Set(['CANCELLED']))
      await lock.query('ROLLBACK')
      for (const id of running) await runEnded(database, id)
      expect(new Set(await statusesOf(running))).toEqual(new Set(['CANCELLED']))
      await quiet()
      expect(await database.query('SELECT DISTINCT n FROM analytics.a')).toEqual([{ n: 0 }])
      await runEnded(database, (await api.post(`/pipelines/${ids.b}/run`)).json().run_id)
      expect(await database.query('SELECT DISTINCT n FROM analytics.a')).toEqual([{ n: 2 }])
    },
  )
})
