import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  aLogicalServer,
  KEEP_BYTES,
  type LogicalServer,
  positionOf,
  Rig,
} from '../../tests/support/capture.js'
import { throughPgBouncer } from '../../tests/support/pgbouncer.js'
import { isStopped } from '../../tests/support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../../tests/support/processes.js'
import { inTurn } from '../../tests/support/sample.js'
import { waitFor } from '../../tests/support/wait.js'
import { unregisterPipeline } from './heads.js'
import { parseLsn } from './lsn.js'

let server: LogicalServer

beforeAll(async () => {
  server = await aLogicalServer()
})

afterAll(() => server?.stop())

const TABLES = [{ schema: 'public', table: 't', columns: ['v'] }]

async function aRig(): Promise<Rig> {
  return Rig.create({ server, sql: 'CREATE TABLE t (id int PRIMARY KEY, v text)', tables: TABLES })
}

async function insert(rig: Rig, from: number, to = from): Promise<void> {
  for (let id = from; id <= to; id++) await rig.source.query('INSERT INTO t VALUES ($1, $2)', [id, `v${id}`])
}

/** The keys in the log, as numbers. */
async function logged(rig: Rig): Promise<number[]> {
  return (await rig.log()).map((entry) => Number((entry.new as { id: string }).id))
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

async function slotOf(rig: Rig): Promise<{ confirmed: bigint; active: boolean } | null> {
  const { slot } = await rig.head()
  const [row] = await rig.source.query<{ confirmed: string; active: boolean }>(
    'SELECT confirmed_flush_lsn::text AS confirmed, active FROM pg_replication_slots WHERE slot_name = $1',
    [slot],
  )
  return row === undefined ? null : { confirmed: parseLsn(row.confirmed), active: row.active }
}

const POINTS = [
  ['between decoding and the log', 'capture.decoded'],
  ['between the log and its acknowledgement', 'capture.logged'],
] as const

/** A real runner, whose captor may be armed to stop at a failpoint. */
async function aRunner(rig: Rig, env: Record<string, string> = {}): Promise<SpawnedVitrina> {
  const runner = spawnVitrina(['runner'], {
    DATABASE_URL: rig.main.url,
    VITRINA_CONNECTION_CINEMA_URL: rig.source.url,
    RUNNER_LEASE_SECONDS: '2',
    LOG_FORMAT: 'json',
    ...env,
  })
  await runner.waitForOutput(/Runner started/)
  return runner
}

describe('a captor', () => {
  it('acknowledges only what the log has committed', async () => {
    const rig = await aRig()
    rig.captor()
    await rig.captured()
    await insert(rig, 1, 20)
    await rig.captured()
    expect(await logged(rig)).toEqual(range(1, 20))
    const { upto } = await rig.head()
    const slot = await slotOf(rig)
    expect(slot!.confirmed).toBeLessThanOrEqual((await rig.head()).upto)
    await waitFor(async () => (await slotOf(rig))!.confirmed >= upto, { what: 'the acknowledgement' })
  })

  it('shares the work with another one: one writes, the other takes over when it stops', async () => {
    const rig = await aRig()
    const first = rig.captor({ owner: 'first', leaseSeconds: 2 })
    await rig.captured()
    rig.captor({ owner: 'second', leaseSeconds: 2 })
    await insert(rig, 1, 10)
    await rig.captured()
    expect((await rig.head()).owner).toBe('first')
    const { generation } = await rig.head()
    await first.stop()
    await insert(rig, 11, 20)
    await rig.captured()
    expect(await rig.head()).toMatchObject({ owner: 'second', generation })
    expect(await logged(rig)).toEqual(range(1, 20))
  })

  it('fills the log without gaps and doubles while several contend and one after another stops', async () => {
    const rig = await aRig()
    rig.captor({ owner: 'steady', leaseSeconds: 1 })
    await rig.captured()
    let isWriting = true
    let last = 0
    const writing = (async () => {
      while (isWriting) await insert(rig, ++last)
    })()
    for (let round = 0; round < 4; round++) {
      const other = rig.captor({ owner: `other ${round}`, leaseSeconds: 1 })
      await rig.main.query('UPDATE etl.etl_change_heads SET owner = NULL, fence = fence + 1')
      await rig.captured()
      await other.stop()
    }
    isWriting = false
    await writing
    await rig.captured()
    expect(await logged(rig)).toEqual(range(1, last))
    expect(last).toBeGreaterThan(20)
  })

  it.each(inTurn(POINTS, 0))('killed %s loses and doubles nothing', async (_, point) => {
    const rig = await aRig()
    const killed = await aRunner(rig, { VITRINA_FAILPOINT: `${point}@2=kill` })
    await rig.captured()
    await insert(rig, 1)
    await rig.captured()
    const { generation } = await rig.head()
    await insert(rig, 2, 4)
    expect(await killed.exited).toBe(137)
    await insert(rig, 5)
    rig.captor({ leaseSeconds: 2 })
    await rig.captured()
    expect(await logged(rig)).toEqual(range(1, 5))
    expect((await rig.head()).generation).toBe(generation)
  })

  it.each(inTurn(POINTS, 1))('frozen %s is replaced, and cannot write when it wakes up', async (_, point) => {
    const rig = await aRig()
    const frozen = await aRunner(rig, { VITRINA_FAILPOINT: `${point}@2=freeze` })
    await rig.captured()
    await insert(rig, 1)
    await rig.captured()
    const { generation, fence } = await rig.head()
    await insert(rig, 2)
    await waitFor(async () => isStopped(frozen.pid), { what: 'the runner to freeze' })
    rig.captor({ leaseSeconds: 2, owner: 'next' })
    await insert(rig, 3, 5)
    await rig.captured()
    const taken = await rig.head()
    expect([taken.owner, taken.generation]).toEqual(['next', generation])
    expect(BigInt(taken.fence)).toBeGreaterThan(BigInt(fence))
    expect(await logged(rig)).toEqual(range(1, 5))
    // As if every pipeline had passed them: then no key of the log keeps the other captor from writing them again.
    await rig.main.query('DELETE FROM etl.etl_changes')
    frozen.kill('SIGCONT')
    await frozen.waitForOutput(/Another runner captures|could not be renewed/)
    await insert(rig, 6)
    await rig.captured()
    expect(await logged(rig)).toEqual([6])
    expect((await rig.head()).owner).toBe('next')
  })

  it('takes a transaction of 100,000 rows in bounded memory, as one entry', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    global.gc?.()
    const before = process.memoryUsage().rss
    let highest = 0
    const timer = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss)
    }, 5)
    await rig.source.query("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 100000) i")
    await rig.captured()
    clearInterval(timer)
    expect(await rig.log()).toEqual([{ relation: 'public.t', op: 'T', old: null, new: null }])
    // The rows alone are 50 MB, as text of images more than 100.
    expect((highest - before) / 1024 / 1024).toBeLessThan(150)
    expect((await rig.open(positionOf(first))).full).toMatch(/too many rows/)
  })

  it('lists 40,000 rows of one transaction one by one', async () => {
    const rig = await aRig()
    rig.captor()
    await rig.captured()
    await rig.source.query("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 40000) i")
    await rig.captured()
    const [row] = await rig.main.query(
      'SELECT count(*)::int, count(DISTINCT seq)::int AS seqs FROM etl.etl_changes',
    )
    expect(row).toEqual({ count: 40_000, seqs: 40_000 })
  })

  it('does not keep the WAL of other databases for an idle one', async () => {
    const rig = await aRig()
    rig.captor()
    await rig.captured()
    const before = (await slotOf(rig))!.confirmed
    const neighbour = await Rig.create({ server, sql: 'CREATE TABLE u (v text)', tables: [] })
    await neighbour.source.query("INSERT INTO u SELECT repeat('x', 1000) FROM generate_series(1, 5000)")
    await waitFor(async () => (await slotOf(rig))!.confirmed > before + 5_000_000n, {
      what: 'the idle slot to be acknowledged',
    })
    expect(await rig.log()).toEqual([])
  })

  it('drops the slot with the last pipeline, and starts over for the next', async () => {
    const rig = await aRig()
    rig.captor()
    await insert(rig, 1)
    await rig.captured()
    const { generation } = await rig.head()
    await unregisterPipeline(rig.session, rig.pipelineId)
    await waitFor(async () => (await slotOf(rig)) === null, { what: 'the slot to be dropped' })
    await waitFor(async () => !(await rig.head()).hasSlot, { what: 'the head to know' })
    expect(await rig.log()).toEqual([])
    await insert(rig, 2)
    const { registerPipeline } = await import('./heads.js')
    await registerPipeline(rig.session, { head: await rig.head(), pipelineId: rig.pipelineId }, TABLES)
    await rig.captured()
    await insert(rig, 3)
    await rig.captured()
    expect(await logged(rig)).toEqual([3])
    expect(BigInt((await rig.head()).generation)).toBeGreaterThan(BigInt(generation))
  })

  it('drops the slot when the source keeps too much WAL for it', async () => {
    const rig = await aRig()
    const open = await rig.source.client()
    rig.captor({ keepBytes: 20_000_000 })
    await rig.captured()
    const { generation } = await rig.head()
    // An open transaction keeps everything since it began.
    await open.query("BEGIN; INSERT INTO t VALUES (1, 'x')")
    await rig.source.query(
      'CREATE TABLE u AS SELECT repeat(md5(i::text), 30) AS v FROM generate_series(1, 40000) i',
    )
    await waitFor(async () => (await rig.head()).startSnapshot === null, { what: 'the slot to be given up' })
    await open.query('COMMIT')
    await rig.captured()
    expect(BigInt((await rig.head()).generation)).toBeGreaterThan(BigInt(generation))
    const [row] = await rig.main.query<{ lost: string }>('SELECT lost FROM etl.etl_change_heads')
    expect(row!.lost).toMatch(/kept \d+ bytes of WAL/)
  })

  it('reports which transaction a new slot waits for', async () => {
    const rig = await aRig()
    const open = await rig.source.client()
    await open.query("BEGIN; INSERT INTO t VALUES (1, 'x')")
    rig.captor()
    const pid = (open as unknown as { processID: number }).processID
    await waitFor(async () => (await rig.head()).error?.includes(`session ${pid} of`), { what: 'the reason' })
    await open.query('COMMIT')
    await rig.captured()
    await waitFor(async () => (await rig.head()).error === null, { what: 'the error to go' })
  })

  it('reports what the source is missing', async () => {
    const rig = await aRig()
    const { publication } = await rig.head()
    await rig.source.query(`DROP PUBLICATION ${publication}`)
    rig.captor()
    await waitFor(
      async () =>
        (await rig.head()).error?.includes(`CREATE PUBLICATION "${publication}" FOR TABLE "public"."t"`),
      { what: 'the statement' },
    )
    await rig.prepare()
    await rig.captured()
  })

  it('captures by SQL where a pooler refuses replication connections', async ({ skip }) => {
    const found = inject('pgbouncer')
    if ('missing' in found) return skip(found.missing)
    const rig = await aRig()
    const sourceUrl = await throughPgBouncer(rig.source.url, { program: found.path, poolMode: 'session' })
    rig.captor({ sourceUrl })
    await rig.captured()
    const first = await rig.open()
    await insert(rig, 1, 10)
    expect((await rig.open(positionOf(first))).entries).toHaveLength(10)
    await rig.captured()
    const [row] = await rig.main.query('SELECT way FROM etl.etl_change_heads')
    expect(row).toEqual({ way: 'peek' })
    expect(await logged(rig)).toEqual(range(1, 10))
  })

  it('writes the same log when it captures by SQL', async () => {
    const rig = await aRig()
    rig.captor({ way: 'peek', keepBytes: KEEP_BYTES })
    await rig.captured()
    await insert(rig, 1, 20)
    await rig.source.query('UPDATE t SET id = 100 WHERE id = 3; DELETE FROM t WHERE id = 4')
    await rig.captured()
    expect((await rig.log()).slice(20)).toEqual([
      { relation: 'public.t', op: 'U', old: { id: '3' }, new: { id: '100', v: 'v3' } },
      { relation: 'public.t', op: 'D', old: { id: '4' }, new: null },
    ])
    expect((await slotOf(rig))!.confirmed).toBeLessThanOrEqual((await rig.head()).upto)
  })
})
