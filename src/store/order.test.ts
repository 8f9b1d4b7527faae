import { beforeEach, describe, expect, it } from 'vitest'
import type { PipelineOverrides } from '../../tests/support/builders.js'
import { aPipeline } from '../../tests/support/builders.js'
import { aQueue, LEASE, type Queue } from '../../tests/support/queue.js'
import type { Claim, RunEnd } from '../model/claim.js'

let on: Queue
let ids: Map<string, string>
let claims: Map<string, Claim>
beforeEach(async () => {
  on = await aQueue()
  ids = new Map()
  claims = new Map()
})

const idOf = (name: string): string => ids.get(name)!

/** `d: ['b', 'c']` follows b and c through the marts that it reads. */
async function graph(
  edges: Record<string, readonly string[]>,
  overrides: Record<string, PipelineOverrides> = {},
) {
  for (const [name, upstreams] of Object.entries(edges)) {
    const { id } = await aPipeline(on.database, {
      name,
      targetTable: `analytics.${name}`,
      ...overrides[name],
    })
    ids.set(name, id)
    await reads(name, upstreams)
  }
}

const reads = (name: string, tables: readonly string[], strict = false) =>
  on.database.query('SELECT etl.note_reads($1, $2, $3, $4, $5)', [
    idOf(name),
    [null],
    tables.map(() => 'analytics'),
    tables,
    strict,
  ])

const request = (name: string) => on.setStatus(idOf(name), 'RUN_REQUESTED')

/** Claims everything that is queued. Returns the names, sorted. */
async function start(): Promise<string[]> {
  const started: string[] = []
  for (
    let claim = await on.queue.claim('r', LEASE);
    claim !== null;
    claim = await on.queue.claim('r', LEASE)
  ) {
    claims.set(claim.pipeline.name, claim)
    started.push(claim.pipeline.name)
  }
  return started.sort()
}

const SUCCESS: RunEnd = { status: 'SUCCESS' }
const FAILED: RunEnd = { status: 'FAILED', error: 'no', code: 'VTR-2002', hint: 'none' }

async function end(
  name: string,
  { rows = 1, batches = 1, how = SUCCESS }: { rows?: number; batches?: number; how?: RunEnd } = {},
) {
  const claim = claims.get(name)!
  await on.database.query(
    'UPDATE etl.etl_runs SET rows_written = $2, rows_inserted = $2, batches = $3 WHERE id = $1',
    [claim.runId, rows, batches],
  )
  await on.queue.finish(claim, how)
}

/** Decides and starts. */
async function next(): Promise<string[]> {
  await on.dueRuns.requestDue()
  return start()
}

async function run(name: string, how: Parameters<typeof end>[1] = {}) {
  await request(name)
  expect(await start()).toEqual([name])
  await end(name, how)
}

async function held(): Promise<Record<string, string | null>> {
  const rows = await on.database.query<{ name: string; code: string | null; upstream: string | null }>(
    `SELECT p.name, h.code, u.name AS upstream FROM etl.pending_pipelines() h JOIN etl.etl_pipelines p ON p.id = h.pipeline_id
       LEFT JOIN etl.etl_pipelines u ON u.id = h.upstream_id`,
  )
  return Object.fromEntries(
    rows.map(({ name, code, upstream }) => [name, upstream === null ? code : `${code} ${upstream}`]),
  )
}

const marks = () => on.database.query('SELECT * FROM etl.etl_due')

const DIAMOND = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] }

describe('the order of pipelines', () => {
  it('runs each follower of a diamond once, after all its upstreams', async () => {
    await graph(DIAMOND)
    await run('a')
    expect(await next()).toEqual(['b', 'c'])
    await end('b')
    expect(await next()).toEqual([])
    expect(await held()).toEqual({ d: 'UPSTREAM_RUNS c' })
    await end('c')
    expect(await next()).toEqual(['d'])
    await end('d')
    expect(await next()).toEqual([])
    expect(await marks()).toEqual([])
  })

  it('runs no follower when nothing changed', async () => {
    await graph(DIAMOND)
    await run('a', { rows: 0 })
    expect(await next()).toEqual([])
    expect(await marks()).toEqual([])
  })

  it('runs a follower also when only one of its upstreams changed rows', async () => {
    await graph(DIAMOND)
    await run('a')
    await next()
    await end('b', { rows: 0 })
    await end('c')
    expect(await next()).toEqual(['d'])
  })

  it('waits for a pipeline in between that both a long and a short way lead through', async () => {
    await graph({ a: [], b: ['a'], e: ['b'], d: ['a', 'e'] })
    await run('a')
    expect(await next()).toEqual(['b'])
    expect(await held()).toEqual({ d: 'UPSTREAM_RUNS e' })
    await end('b')
    expect(await next()).toEqual(['e'])
    await end('e')
    expect(await next()).toEqual(['d'])
  })

  it('runs a chain of five, one after the other', async () => {
    await graph({ a: [], b: ['a'], c: ['b'], d: ['c'], e: ['d'] })
    await run('a')
    const order: string[] = []
    for (let now = await next(); now.length > 0; now = await next()) {
      order.push(...now)
      await end(now[0]!)
    }
    expect(order).toEqual(['b', 'c', 'd', 'e'])
  })

  it('runs a follower again for a change during its run, and only once for a change while it was queued', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await on.dueRuns.requestDue()
    await request('a')
    await start()
    await end('a')
    expect(await held()).toEqual({ b: 'PIPELINE_ACTIVE' })
    await end('b')
    expect(await next()).toEqual(['b'])
    await end('b')
    await run('a')
    await on.dueRuns.requestDue()
    await run2('a')
    expect(await start()).toEqual(['b'])
    await end('b')
    expect(await next()).toEqual([])
  })

  it('settles the change with any run of the follower, also one that a user requested', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await request('b')
    expect(await start()).toEqual(['b'])
    await end('b')
    expect(await next()).toEqual([])
  })

  it('requests one run when two runners decide at the same moment', async () => {
    await graph({ a: [], b: ['a'], c: ['a'], d: ['a'] })
    await run('a')
    const requested = await Promise.all(Array.from({ length: 8 }, () => on.dueRuns.requestDue()))
    expect(requested.flat()).toHaveLength(3)
    expect(await start()).toEqual(['b', 'c', 'd'])
    const [row] = await on.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM etl.etl_runs',
    )
    expect(row!.count).toBe(4)
  })

  it('leaves a pipeline to the next decision while another session holds it', async () => {
    await graph({ a: [], b: ['a'], c: ['a'] })
    await run('a')
    const client = await on.database.client()
    await client.query('BEGIN')
    await client.query('SELECT FROM etl.etl_pipelines WHERE id = $1 FOR UPDATE', [idOf('b')])
    expect(await next()).toEqual(['c'])
    await client.query('ROLLBACK')
    expect(await next()).toEqual(['b'])
  })
})

/** Runs a while b is queued: only a is claimed. */
async function run2(name: string) {
  await request(name)
  await on.database.query("UPDATE etl.etl_pipelines SET requested_at = '2000-01-01' WHERE id = $1", [
    idOf(name),
  ])
  const claim = (await on.queue.claim('r', LEASE))!
  expect(claim.pipeline.name).toBe(name)
  claims.set(name, claim)
  await end(name)
}

describe('a failed upstream', () => {
  it('holds its followers back with the reason until it has recovered', async () => {
    await graph(DIAMOND)
    await run('a')
    await next()
    await end('b', { rows: 0, batches: 0, how: FAILED })
    await end('c')
    expect(await next()).toEqual([])
    expect(await held()).toEqual({ b: 'PIPELINE_FAILED', d: 'UPSTREAM_FAILED b' })
    await run('b')
    expect(await next()).toEqual(['d'])
    await end('d')
    expect(await marks()).toEqual([])
  })

  it('does not hold back those that run anyway', async () => {
    await graph(DIAMOND, { d: { onUpstreamFailure: 'run' } })
    await run('a')
    await next()
    await end('b', { rows: 0, how: FAILED })
    await end('c')
    expect(await next()).toEqual(['d'])
  })

  it('passes its committed changes on after its recovery, which may find nothing left', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a', { rows: 5, how: FAILED })
    expect(await held()).toEqual({ b: 'UPSTREAM_FAILED a' })
    await run('a', { rows: 0 })
    expect(await next()).toEqual(['b'])
  })

  it('holds back what follows a follower that is held back', async () => {
    await graph({ a: [], b: ['a'], x: [], c: ['b', 'x'] })
    await run('a', { how: FAILED })
    await run('x')
    expect(await next()).toEqual([])
    expect(await held()).toEqual({ b: 'UPSTREAM_FAILED a', c: 'UPSTREAM_HELD b' })
  })

  it('does not hold back what follows only its unaffected follower', async () => {
    await graph({ a: [], b: ['a'], x: [], c: ['b', 'x'] })
    await run('a', { rows: 0, how: FAILED })
    await run('x')
    expect(await next()).toEqual(['c'])
  })

  it('that is disabled holds nothing back', async () => {
    await graph({ a: [], x: [], b: ['a', 'x'] })
    await run('a', { how: FAILED })
    await on.database.query('UPDATE etl.etl_pipelines SET enabled = false WHERE id = $1', [idOf('a')])
    await run('x')
    expect(await next()).toEqual(['b'])
  })

  it('that was paused holds back too', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a', { how: { status: 'PAUSED' } })
    await on.database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [
      idOf('a'),
    ])
    await start()
    await on.setStatus(idOf('a'), 'PAUSE_REQUESTED')
    await end('a', { how: { status: 'PAUSED' } })
    expect(await held()).toEqual({ b: 'UPSTREAM_PAUSED a' })
  })
})

describe('a follower', () => {
  it('whose run failed keeps its change for the run after the repair', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await next()
    await end('b', { rows: 0, batches: 0, how: FAILED })
    expect(await next()).toEqual([])
    expect(await held()).toEqual({ b: 'PIPELINE_FAILED' })
    await run('b')
    expect(await marks()).toEqual([])
  })

  it('that resumes where its failed run stopped runs once more: it has not read its first rows again', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await next()
    await end('b', { batches: 3, how: FAILED })
    await run('a')
    await run('b')
    expect(await next()).toEqual(['b'])
    await end('b')
    expect(await next()).toEqual([])
  })

  it('that a user cancels does not start again at once', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await next()
    await end('b', { rows: 0, batches: 0, how: { status: 'CANCELLED' } })
    expect(await next()).toEqual([])
    await run('a')
    expect(await next()).toEqual(['b'])
  })

  it('that is disabled runs when it is enabled again', async () => {
    await graph({ a: [], b: ['a'] }, { b: { enabled: false } })
    await run('a')
    expect(await held()).toEqual({ b: 'PIPELINE_DISABLED' })
    await on.database.query('UPDATE etl.etl_pipelines SET enabled = true WHERE id = $1', [idOf('b')])
    expect(await next()).toEqual(['b'])
  })

  it('reads the last changes of an upstream that was deleted', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await on.database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [idOf('a')])
    expect(await next()).toEqual(['b'])
  })

  it('leaves no mark when it is deleted', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    await on.database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [idOf('b')])
    expect(await marks()).toEqual([])
  })

  it('does not wait permanently for an upstream that always runs', async () => {
    await graph(DIAMOND)
    await run('a')
    await next()
    await request('a')
    await end('b')
    await end('c')
    await start()
    expect(await held()).toEqual({ d: expect.stringContaining('UPSTREAM_RUNS') })
    await end('a')
    await next()
    await request('a')
    await start()
    // The second wave had begun when d was marked: it waits for b and c of that wave.
    await on.database.query(
      "UPDATE etl.etl_due SET since = since - interval '11 seconds', wave = wave - interval '11 seconds'",
    )
    await on.database.query(
      "UPDATE etl.etl_runs SET requested_at = requested_at - interval '11 seconds' WHERE status = 'RUNNING' AND pipeline_id <> $1",
      [idOf('a')],
    )
    expect(await held()).toMatchObject({ d: expect.stringContaining('UPSTREAM_RUNS') })
    await end('b')
    await end('c')
    // The third one began later.
    expect(await next()).toEqual(['d'])
  })
})

describe('what a pipeline follows', () => {
  const edges = async () => {
    const rows = await on.database.query<{ edge: string }>(
      `SELECT u.name || '>' || d.name || coalesce(' ' || e.via, ' declared') AS edge FROM etl.pipeline_edges e
         JOIN etl.etl_pipelines u ON u.id = e.upstream_id JOIN etl.etl_pipelines d ON d.id = e.downstream_id ORDER BY 1`,
    )
    return rows.map(({ edge }) => edge)
  }

  it('is what it reads, and the names that it adds', async () => {
    await graph({ a: [], es: [], b: ['a'] }, { es: { targetTable: 'es:films' }, b: { after: ['es'] } })
    expect(await edges()).toEqual(['a>b analytics.a', 'es>b declared'])
  })

  it('is nothing with none', async () => {
    await graph({ a: [], b: ['a'] }, { b: { after: [] } })
    expect(await edges()).toEqual([])
    await run('a')
    expect(await marks()).toEqual([])
  })

  it('does not include itself', async () => {
    await graph({ a: ['a'] })
    expect(await edges()).toEqual([])
  })

  it('includes every writer of a shared mart, under every name of its database', async () => {
    await graph(
      { a: [], b: [], c: [] },
      {
        a: { targetTable: 'analytics."Odd Name"', sharedTarget: true },
        b: { targetTable: 'analytics."Odd Name"', targetConnection: 'DWH', sharedTarget: true },
      },
    )
    await on.database.query(
      "SELECT etl.note_reads($1, ARRAY[NULL, 'dwh'], ARRAY['analytics'], ARRAY['Odd Name'], true)",
      [idOf('c')],
    )
    expect(await edges()).toEqual(['a>c analytics."Odd Name"', 'b>c analytics."Odd Name"'])
  })

  it('keeps its names when a pipeline is renamed', async () => {
    await graph({ a: [], b: [] }, { b: { after: ['a'] } })
    await on.database.query("UPDATE etl.etl_pipelines SET name = 'a2' WHERE id = $1", [idOf('a')])
    expect(await edges()).toEqual(['a2>b declared'])
  })
})

describe('a cycle', () => {
  it('is refused with its path, by tables, by names and by targets', async () => {
    await graph({ a: [], b: ['a'], c: ['b'] })
    await expect(reads('a', ['c'], true)).rejects.toMatchObject({
      code: 'VT006',
      message: expect.stringContaining('a → b → c → a'),
    })
    await expect(
      on.database.query("UPDATE etl.etl_pipelines SET after = ARRAY['c'] WHERE id = $1", [idOf('a')]),
    ).rejects.toMatchObject({ code: 'VT006', message: expect.stringContaining('a → b → c → a') })
    await reads('a', ['z'], true)
    await expect(
      on.database.query("UPDATE etl.etl_pipelines SET target_table = 'analytics.z' WHERE id = $1", [
        idOf('c'),
      ]),
    ).rejects.toMatchObject({ code: 'VT006', message: expect.stringContaining('c → a → b → c') })
  })

  it('that a run finds is not followed', async () => {
    await graph({ a: [], b: ['a'] })
    await reads('a', ['b', 'c'])
    await run('b')
    expect(await next()).toEqual([])
    const [row] = await on.database.query('SELECT identity FROM etl.etl_pipeline_reads WHERE closes_cycle')
    expect(row).toEqual({ identity: '|analytics.b' })
  })

  it('is refused when two users close it at the same moment', async () => {
    await graph({ a: [], b: [] })
    const ends = await Promise.allSettled([
      on.database.query("UPDATE etl.etl_pipelines SET after = ARRAY['b'] WHERE id = $1", [idOf('a')]),
      (await on.database.client()).query("UPDATE etl.etl_pipelines SET after = ARRAY['a'] WHERE id = $1", [
        idOf('b'),
      ]),
    ])
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('a live pipeline', () => {
  const LIVE = { mode: 'incremental', capture: 'wal', freshness: 'live' } as const

  it('marks its followers with each batch that changes rows', async () => {
    await graph({ a: [], b: ['a'] }, { a: LIVE })
    await request('a')
    await start()
    const batch = (rows: number, number: number) =>
      on.database.query(
        `INSERT INTO etl.etl_run_batches (run_id, batch, attempt, step, rows_read, rows_inserted, rows_updated, rows_unchanged, rows_deleted, rows_quarantined, rows_duplicate, duration_ms)
         VALUES ($1, $2, 1, 'follow', $3, $3, 0, 0, 0, 0, 0, 1)`,
        [claims.get('a')!.runId, number, rows],
      )
    await batch(0, 1)
    expect(await next()).toEqual([])
    await batch(2, 2)
    expect(await next()).toEqual(['b'])
    await batch(2, 3)
    await end('b')
    expect(await next()).toEqual(['b'])
  })

  it('is not marked: it receives the changes themselves', async () => {
    await graph({ a: [], b: ['a'] }, { b: LIVE })
    await run('a')
    expect(await marks()).toEqual([])
  })

  it('cannot lose a change to a follower that starts before it is committed', async () => {
    await graph({ a: [], b: ['a'] })
    await run('a')
    const client = await on.database.client()
    await client.query('BEGIN')
    await client.query('SELECT etl.mark_followers($1, now())', [idOf('a')])
    await request('b')
    expect(await start()).toEqual(['b'])
    await client.query('COMMIT')
    await end('b')
    expect(await next()).toEqual(['b'])
  })
})
