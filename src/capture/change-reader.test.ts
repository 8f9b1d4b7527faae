import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aLogicalServer, type LogicalServer, positionOf, Rig } from '../../tests/support/capture.js'
import { waitFor } from '../../tests/support/wait.js'
import { Session } from '../postgres/session.js'
import { movePosition, registerPipeline } from './heads.js'
import { formatLsn } from './lsn.js'

let server: LogicalServer

beforeAll(async () => {
  // The next record of running transactions comes after 15 s: what is not flushed stays so for the length of a test.
  server = await aLogicalServer({ wal_writer_delay: '10s', wal_writer_flush_after: '0' })
})

afterAll(() => server?.stop())

const TABLES = [
  { schema: 'public', table: 't', columns: ['g'] },
  { schema: 'public', table: 'sale', columns: ['v'] },
]

async function aRig({ tables = TABLES }: { tables?: typeof TABLES } = {}): Promise<Rig> {
  return Rig.create({
    server,
    sql: `CREATE TABLE t (id int PRIMARY KEY, g int NOT NULL DEFAULT 1); INSERT INTO t VALUES (1), (2);
      CREATE TABLE sale (id int, g int, v int, PRIMARY KEY (id, g)) PARTITION BY LIST (g);
      CREATE TABLE sale1 PARTITION OF sale FOR VALUES IN (1); CREATE TABLE sale2 PARTITION OF sale FOR VALUES IN (2);
      INSERT INTO sale SELECT i, 1 + i % 2, i FROM generate_series(1, 10) i;`,
    tables,
  })
}

/** In a transaction that has not seen anything yet. */
async function aSource(rig: Rig): Promise<Session> {
  const source = await Session.open(rig.source.url, 'vitrina-test', new AbortController().signal)
  await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  return source
}

interface Hanging {
  readonly client: pg.Client
  /** Lets the commit become visible. */
  end(): Promise<void>
}

/** A commit that waits for a standby which does not exist: it is in the WAL, and no snapshot sees it. */
async function hangingCommit(rig: Rig, sql: string): Promise<Hanging> {
  const client = await rig.source.client()
  await client.query(`BEGIN; SET LOCAL synchronous_commit = on; ${sql}`)
  const pid = (client as unknown as { processID: number }).processID
  const done = client.query('COMMIT')
  // A test that fails before it ends the wait is heard by its own error.
  done.catch(() => {})
  await waitFor(
    async () => {
      const rows = await rig.source.query(
        "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'",
        [pid],
      )
      return rows.length === 1
    },
    { what: 'the commit to wait for a standby' },
  )
  return {
    client,
    end: async () => {
      await rig.source.query('SELECT pg_cancel_backend($1)', [pid])
      await done
    },
  }
}

const ids = (entries: readonly { readonly new: unknown; readonly old: unknown }[]) =>
  entries.map((entry) => ((entry.new ?? entry.old) as { id: string }).id)

describe('a run', () => {
  it('starts with the full query, and then gets the changes since its position', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    expect(first).toMatchObject({
      full: 'No run has followed changes of this query yet.',
      startCheck: 'ok',
      entries: [],
      held: 0,
    })
    await rig.source.query(
      'INSERT INTO t VALUES (3); DELETE FROM t WHERE id = 1; UPDATE t SET g = 2 WHERE id = 2',
    )
    const second = await rig.open(positionOf(first))
    expect(second).toMatchObject({ full: null, startCheck: 'ok', held: 0, generation: first.generation })
    expect(second.entries.map(({ op, old, new: next }) => [op, old, next])).toEqual([
      ['I', null, { id: '3', g: '1' }],
      ['D', { id: '1' }, null],
      ['U', { id: '2' }, { id: '2', g: '2' }],
    ])
    const third = await rig.open(positionOf(second))
    expect(third).toMatchObject({ full: null, entries: [] })
    expect(third.position).toBeGreaterThanOrEqual(second.position)
  })

  it('gets every commit that its snapshot sees, also one that comes while it waits for the log', async () => {
    const rig = await aRig()
    rig.captor()
    let last = positionOf(await rig.open())
    for (let id = 10; id < 30; id++) {
      await rig.source.query(`INSERT INTO t VALUES (${id})`)
      const late = rig.source.query(`UPDATE t SET g = g + 1 WHERE id = ${id}`)
      const changes = await rig.open(last, async (source, { entries }) => {
        const [row] = await source.rows('SELECT g FROM public.t WHERE id = $1', [id])
        const newest = entries.findLast((entry) => (entry.new as { id: string }).id === String(id))
        // The entry may be newer than the snapshot, never older.
        expect(Number((newest!.new as { g: string }).g)).toBeGreaterThanOrEqual(Number(row!.g))
      })
      await late
      last = positionOf(changes)
    }
    await rig.open(last)
  })

  it('gets a commit that comes right before its snapshot', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    await rig.source.query('DELETE FROM t WHERE id = 1')
    await rig.captured()
    const source = await aSource(rig)
    const rows = source.rows.bind(source)
    let isFirst = true
    source.rows = (async (text: string, values: readonly unknown[]) => {
      if (isFirst) await rig.source.query('DELETE FROM t WHERE id = 2')
      isFirst = false
      return rows(text, values)
    }) as Session['rows']
    const changes = await rig.reader().open({ source, tables: TABLES, last: positionOf(first) })
    await source.close()
    expect([ids(changes.entries), changes.held]).toEqual([['1', '2'], 0])
  })

  it('gets a commit again that was decoded before its snapshot could see it', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    const hanging = await hangingCommit(rig, 'UPDATE t SET g = 5 WHERE id = 1')
    await rig.source.query('INSERT INTO t VALUES (3)')
    const second = await rig.open(positionOf(first), async (source) => {
      expect(await source.rows('SELECT g FROM public.t WHERE id = 1')).toEqual([{ g: '1' }])
    })
    expect(ids(second.entries)).toEqual(['1', '3'])
    expect(second.held).toBe(2)
    expect(second.position).toBeLessThan(second.entries[0]!.endLsn)
    await hanging.end()
    const third = await rig.open(positionOf(second), async (source) => {
      expect(await source.rows('SELECT g FROM public.t WHERE id = 1')).toEqual([{ g: '5' }])
    })
    expect([ids(third.entries), third.held]).toEqual([['1', '3'], 0])
    expect(third.position).toBeGreaterThanOrEqual(third.entries.at(-1)!.endLsn)
  })

  it('gets a commit whose record begins exactly where its position is', async () => {
    const rig = await aRig()
    rig.captor()
    let last = positionOf(await rig.open())
    const client = await rig.source.client()
    let exact = 0
    for (let id = 100; id < 120; id++) {
      // Its only record after the other commit is that of its own commit, which begins where the other one ends.
      await client.query(`BEGIN; INSERT INTO t VALUES (${id})`)
      await rig.source.query('INSERT INTO sale VALUES ($1, 1, 1)', [id])
      const between = await rig.open(last)
      const { rows } = await client.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn')
      const start = rows[0]!.lsn
      await client.query('COMMIT')
      const changes = await rig.open(positionOf(between))
      expect(ids(changes.entries)).toEqual([String(id)])
      if (start === formatLsn(between.position)) exact += 1
      last = positionOf(changes)
    }
    expect(exact).toBeGreaterThan(0)
  })

  it('gets an asynchronous commit, which is visible before it is flushed', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    const client = await rig.source.client()
    await client.query('SET synchronous_commit = off; INSERT INTO t VALUES (3)')
    expect(ids((await rig.open(positionOf(first))).entries)).toEqual(['3'])
  })

  it('flushes the page of an open transaction, before PostgreSQL 17 with a commit', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    const client = await rig.source.client()
    await client.query('BEGIN; INSERT INTO t VALUES (3)')
    const source = await aSource(rig)
    const { entries } = await rig.reader().open({ source, tables: TABLES, last: positionOf(first) })
    await source.close()
    const barriers = await rig.source.query(
      "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vitrina-barrier'",
    )
    await client.query('COMMIT')
    const expected = inject('server').major < 17 ? [{ query: expect.stringContaining('emit_message') }] : []
    expect([entries, barriers]).toEqual([[], expected])
  })

  it('fails with the reason when no captor runs', async () => {
    const rig = await aRig()
    const reader = rig.reader({ timeoutMs: 200 })
    const source = await aSource(rig)
    await expect(reader.open({ source, tables: TABLES, last: null })).rejects.toMatchObject({
      code: 'CAPTURE_BEHIND',
      message: expect.stringContaining('No runner captures its changes.'),
    })
    await source.close()
  })
})

describe('the full query is needed', () => {
  const STRUCTURES: [string, string][] = [
    ['a partition was truncated', 'TRUNCATE sale2'],
    ['a partition was detached', 'ALTER TABLE sale DETACH PARTITION sale2'],
    ['a partition was dropped', 'DROP TABLE sale2'],
    [
      'a table was replaced by another of its name',
      'ALTER TABLE t RENAME TO t_old; CREATE TABLE t (id int PRIMARY KEY, g int)',
    ],
    ['the identity changed', 'ALTER TABLE t REPLICA IDENTITY FULL'],
    [
      'a partition was changed while it was detached',
      'ALTER TABLE sale DETACH PARTITION sale2; UPDATE sale2 SET v = 0; ALTER TABLE sale ATTACH PARTITION sale2 FOR VALUES IN (2)',
    ],
    [
      'a table was changed while it had another name',
      'ALTER TABLE t RENAME TO other; UPDATE other SET g = 9; ALTER TABLE other RENAME TO t',
    ],
    [
      'a table was changed while it was in another schema',
      'CREATE SCHEMA other; ALTER TABLE t SET SCHEMA other; UPDATE other.t SET g = 9; ALTER TABLE other.t SET SCHEMA public',
    ],
    [
      'a table was changed while its schema had another name',
      'ALTER SCHEMA public RENAME TO other; UPDATE other.t SET g = 9; ALTER SCHEMA other RENAME TO public',
    ],
    [
      "a table was changed while two columns had each other's names",
      `ALTER TABLE t RENAME id TO x; ALTER TABLE t RENAME g TO id; ALTER TABLE t RENAME x TO g; UPDATE t SET id = 9;
       ALTER TABLE t RENAME id TO x; ALTER TABLE t RENAME g TO id; ALTER TABLE t RENAME x TO g`,
    ],
    ['a column changed its type', 'ALTER TABLE t ALTER g TYPE bigint'],
  ]

  it.each(STRUCTURES)('when %s', async (_, sql) => {
    const rig = await aRig()
    rig.captor()
    const last = positionOf(await rig.open())
    expect((await rig.open(last)).full).toBeNull()
    await rig.source.query(sql)
    expect((await rig.open(last)).full).toMatch(/structure|not published/)
  })

  it('when a table left the publication and came back', async () => {
    const rig = await aRig()
    rig.captor()
    const last = positionOf(await rig.open())
    const { publication } = await rig.head()
    await rig.source.query(
      `ALTER PUBLICATION ${publication} DROP TABLE t; UPDATE t SET g = 9; ALTER PUBLICATION ${publication} ADD TABLE t`,
    )
    const changes = await rig.open(last)
    expect([changes.full, changes.entries]).toEqual([
      'A table was truncated, or its structure has changed.',
      [],
    ])
  })

  it('when rows were deleted while the publication left deletes out', async () => {
    const rig = await aRig()
    rig.captor()
    const last = positionOf(await rig.open())
    const { publication } = await rig.head()
    await rig.source.query(
      `ALTER PUBLICATION ${publication} SET (publish = 'insert'); DELETE FROM t; ALTER PUBLICATION ${publication} SET (publish = 'insert, update, delete, truncate')`,
    )
    expect((await rig.open(last)).full).toBe('A table was truncated, or its structure has changed.')
  })

  it('every time, when a table is not published, or only together with the table it is a partition of', async () => {
    const rig = await aRig({
      tables: [...TABLES, { schema: 'public', table: 'sale1', columns: [] }],
    })
    rig.captor()
    const first = await rig.open()
    expect(first.full).toBe('Changes of public.sale1 are not published.')
    await rig.source.query('INSERT INTO sale VALUES (77, 1, 1)')
    const second = await rig.open(positionOf(first))
    expect(second.full).toBe('Changes of public.sale1 are not published.')
  })

  it('when a table was truncated', async () => {
    const rig = await aRig()
    rig.captor()
    const last = positionOf(await rig.open())
    await rig.source.query('TRUNCATE t')
    expect((await rig.open(last)).full).toMatch(/its structure has changed|public.t was truncated/)
  })

  it('when there are more changes than are worth reading, and the gate still holds', async () => {
    const rig = await aRig()
    rig.captor()
    const last = positionOf(await rig.open())
    await rig.source.query('INSERT INTO t SELECT generate_series(10, 14)')
    const hanging = await hangingCommit(rig, 'INSERT INTO t VALUES (20)')
    const reader = rig.reader({ mostEntries: 3 })
    const source = await aSource(rig)
    const changes = await reader.open({ source, tables: TABLES, last })
    await source.close()
    expect(changes).toMatchObject({ full: 'Too many rows have changed to follow each of them.', entries: [] })
    await hanging.end()
    expect(ids((await rig.open(positionOf(changes))).entries)).toEqual(['20'])
  })
})

describe('how far the log is', () => {
  /** A log whose captor was stopped, and a change after it. */
  async function leftBehind(change: string) {
    const rig = await aRig()
    const captor = rig.captor()
    const last = positionOf(await rig.open())
    await captor.stop()
    await rig.source.query(change)
    const source = await aSource(rig)
    const open = () => rig.reader({ timeoutMs: 1 }).open({ source, tables: TABLES, last })
    const report = (generation: string) =>
      rig.signals
        .captures(rig.headId, () => {})
        .reached({ generation, logged: last.endLsn, reached: 2n ** 63n })
    onTestFinished(() => source.close())
    return { open, report, last }
  }

  it('is reported by a captor of the same process, which need not write it into the log', async () => {
    const { open, report, last } = await leftBehind("SELECT pg_logical_emit_message(true, 'test', '')")
    await expect(open()).rejects.toMatchObject({ code: 'CAPTURE_BEHIND' })
    report(last.generation)
    expect(await open()).toMatchObject({ full: null, entries: [], position: last.endLsn })
  })

  it('is ignored if it belongs to another log', async () => {
    const { open, report } = await leftBehind('INSERT INTO t VALUES (9)')
    report('1')
    await expect(open()).rejects.toMatchObject({ code: 'CAPTURE_BEHIND' })
  })
})

describe('a first read', () => {
  it('waits while a commit is invisible that is older than the slot', async () => {
    const rig = await aRig()
    rig.captor()
    await rig.captured()
    const hanging = await hangingCommit(rig, 'UPDATE t SET g = 7 WHERE id = 1')
    // A later transaction that has ended: otherwise xmax is the number of the one that hangs.
    await rig.source.query('SELECT pg_current_xact_id()')
    const [row] = await rig.source.query<{ xmax: string }>(
      'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax',
    )
    // As if the slot had begun after this commit: PostgreSQL itself leaves only moments for it.
    await rig.main.query('UPDATE etl.etl_change_heads SET start_snapshot = $1', [
      `${row!.xmax}:${row!.xmax}:`,
    ])
    expect((await rig.open()).startCheck).toBe('wait')
    await hanging.end()
    await rig.open(null, async (source, changes) => {
      expect(changes.startCheck).toBe('ok')
      expect(await source.rows('SELECT g FROM public.t WHERE id = 1')).toEqual([{ g: '7' }])
    })
  })

  it('waits while a transaction is open that changed a table before it was published', async () => {
    const rig = await aRig({ tables: [TABLES[0]!] })
    rig.captor()
    await rig.captured()
    const client = await rig.source.client()
    await client.query('BEGIN; INSERT INTO sale VALUES (500, 1, 1)')
    await rig.prepare(TABLES)
    const other = Object.assign(Object.create(Object.getPrototypeOf(rig)) as Rig, rig, { tables: TABLES })
    await waitFor(async () => Object.keys((await rig.head()).published).length === 2, {
      what: 'the captor to see the table',
    })
    expect((await other.open()).startCheck).toBe('wait')
    await client.query('INSERT INTO sale VALUES (501, 1, 1); COMMIT')
    await rig.captured()
    // This is why: the source never reports it.
    expect(ids((await rig.log()) as never)).not.toContain('500')
    await waitFor(async () => (await other.open()).startCheck === 'ok', { what: 'the table to be covered' })
    const first = await other.open(null, async (source) => {
      expect(await source.rows('SELECT id FROM public.sale WHERE id >= 500 ORDER BY 1')).toEqual([
        { id: '500' },
        { id: '501' },
      ])
    })
    await rig.source.query('INSERT INTO sale VALUES (502, 1, 1)')
    expect(ids((await other.open(positionOf(first))).entries)).toEqual(['502'])
  })
})

describe('the log', () => {
  it('is trimmed below the slowest registered position, and a position below that means a full query', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    const mine = { head: await rig.head(), pipelineId: rig.pipelineId }
    await movePosition(rig.session, mine, { generation: first.generation, endLsn: first.position })
    await rig.source.query('INSERT INTO t VALUES (3)')
    const second = await rig.open(positionOf(first))
    await rig.source.query('INSERT INTO t VALUES (4)')
    const third = await rig.open(positionOf(second))
    expect(ids(third.entries)).toEqual(['4'])
    await movePosition(rig.session, mine, { generation: second.generation, endLsn: second.position })
    await waitFor(async () => (await rig.log()).length === 1, { what: 'the log to be trimmed' })
    expect(ids((await rig.log()) as never)).toEqual(['4'])
    expect(ids((await rig.open(positionOf(second))).entries)).toEqual(['4'])
    expect((await rig.open(positionOf(first))).full).toBe(
      'The change log no longer reaches back to the last run.',
    )
  })

  it('is not trimmed for others while a pipeline is registered that has not read yet', async () => {
    const rig = await aRig()
    rig.captor()
    const first = await rig.open()
    await rig.source.query('INSERT INTO t VALUES (3)')
    const second = await rig.open(positionOf(first))
    const head = await rig.head()
    const { id } = await aPipeline(rig.main)
    await registerPipeline(rig.session, { head, pipelineId: id }, TABLES)
    await movePosition(
      rig.session,
      { head, pipelineId: rig.pipelineId },
      { generation: second.generation, endLsn: second.position },
    )
    // What is seen on the source is written in the same round as the log is trimmed, before it.
    for (let round = 0; round < 2; round++) {
      await rig.main.query('UPDATE etl.etl_change_heads SET way = NULL')
      await waitFor(
        async () =>
          (await rig.main.query('SELECT FROM etl.etl_change_heads WHERE way IS NOT NULL')).length > 0,
        { what: 'a round of housekeeping' },
      )
    }
    expect(ids((await rig.log()) as never)).toEqual(['3'])
  })
})
