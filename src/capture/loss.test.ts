import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { aLogicalServer, type LogicalServer, positionOf, Rig } from '../../tests/support/capture.js'
import { withClient } from '../../tests/support/server.js'
import { waitFor } from '../../tests/support/wait.js'
import type { Captor } from './captor.js'
import { formatLsn } from './lsn.js'

const run = promisify(execFile)

const TABLES = [{ schema: 'public', table: 't', columns: [] }]

let server: LogicalServer

beforeAll(async () => {
  server = await aLogicalServer({
    max_slot_wal_keep_size: '16MB',
    max_wal_size: '48MB',
    min_wal_size: '32MB',
  })
})

afterAll(() => server?.stop())

async function aRig(own: LogicalServer = server): Promise<{ rig: Rig; captor: Captor }> {
  const rig = await Rig.create({
    server: own,
    sql: 'CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)',
    tables: TABLES,
  })
  const captor = rig.captor()
  await rig.captured()
  await rig.source.query('INSERT INTO t VALUES (2)')
  await rig.captured()
  return { rig, captor }
}

/** The next run of a pipeline that was up to date before: it has to compare everything, and miss nothing. */
async function expectNewGeneration(rig: Rig, act: () => Promise<void>, reason: RegExp): Promise<void> {
  const last = positionOf(await rig.open())
  await act()
  await waitFor(async () => (await rig.head()).generation !== last.generation, { what: 'a new generation' })
  await rig.captured()
  const changes = await rig.open(last)
  expect(changes).toMatchObject({ full: 'The replication slot was lost, or is new.', startCheck: 'ok' })
  const [row] = await rig.main.query<{ lost: string }>('SELECT lost FROM etl.etl_change_heads')
  expect(row!.lost).toMatch(reason)
  await rig.source.query('INSERT INTO t VALUES (1000)')
  const next = await rig.open(positionOf(changes))
  expect(next.full).toBeNull()
  expect(next.entries.map((entry) => entry.new)).toEqual([{ id: '1000' }])
}

/** Waits until the stopped captor has left the slot. Returns its name. */
async function dropSlot(rig: Awaited<ReturnType<typeof aRig>>['rig']): Promise<string | null> {
  const { slot } = await rig.head()
  await waitFor(() => rig.source.query('SELECT pg_drop_replication_slot($1)', [slot]), { what: 'the drop' })
  return slot
}

describe('a new generation begins when', () => {
  it('the slot was dropped', async () => {
    const { rig, captor } = await aRig()
    await expectNewGeneration(
      rig,
      async () => {
        await captor.stop()
        await dropSlot(rig)
        await rig.source.query('INSERT INTO t VALUES (3)')
        rig.captor()
      },
      /no longer exists/,
    )
  })

  it('the slot is dropped while a captor uses it', async () => {
    const { rig } = await aRig()
    await expectNewGeneration(
      rig,
      async () => {
        const { slot } = await rig.head()
        await waitFor(
          async () => {
            await rig.source.query(
              'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1',
              [slot],
            )
            return rig.source.query('SELECT pg_drop_replication_slot($1)', [slot])
          },
          { what: 'the drop' },
        )
      },
      /no longer exists/,
    )
  })

  it('another session advanced the slot', async () => {
    const { rig, captor } = await aRig()
    await expectNewGeneration(
      rig,
      async () => {
        await captor.stop()
        await rig.source.query('INSERT INTO t VALUES (3)')
        const { slot } = await rig.head()
        await waitFor(
          () => rig.source.query('SELECT pg_replication_slot_advance($1, pg_current_wal_lsn())', [slot]),
          { what: 'the slot to move' },
        )
        rig.captor()
      },
      /advanced or created again/,
    )
  })

  it('another session created the slot again', async () => {
    const { rig, captor } = await aRig()
    await expectNewGeneration(
      rig,
      async () => {
        await captor.stop()
        const slot = await dropSlot(rig)
        await rig.source.query('INSERT INTO t VALUES (3)')
        await rig.source.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [slot])
        rig.captor()
      },
      /advanced or created again/,
    )
  })

  it('another session advances the slot while it is captured by SQL', async () => {
    const { rig, captor } = await aRig()
    await captor.stop()
    rig.captor({ way: 'peek' })
    await rig.captured()
    await expectNewGeneration(
      rig,
      async () => {
        const { slot } = await rig.head()
        await waitFor(
          async () => {
            const lost = await rig.main.query(
              "SELECT FROM etl.etl_change_heads WHERE lost ~ 'moved|advanced'",
            )
            if (lost.length > 0) return true
            await rig.source.query(`INSERT INTO t SELECT max(id) + 1 FROM t WHERE id < 1000`)
            // The captor ends a session that it finds at its slot: each time another one.
            const client = await rig.source.client()
            await client
              .query('SELECT pg_replication_slot_advance($1, pg_current_wal_lsn())', [slot])
              .finally(() => client.end().catch(() => {}))
            return false
          },
          { what: 'the captor to notice' },
        )
      },
      /moved or dropped|advanced or created/,
    )
  })

  it('the source removed WAL that the slot needed', async () => {
    const { rig, captor } = await aRig()
    await expectNewGeneration(
      rig,
      async () => {
        await captor.stop()
        await rig.source.query('INSERT INTO t VALUES (3)')
        const { slot } = await rig.head()
        await waitFor(
          async () => {
            await rig.source.query(
              `CREATE TABLE IF NOT EXISTS big (v text); INSERT INTO big SELECT repeat(md5(i::text), 30) FROM generate_series(1, 40000) i; SELECT pg_switch_wal(); CHECKPOINT`,
            )
            const [row] = await rig.source.query<{ status: string }>(
              'SELECT wal_status AS status FROM pg_replication_slots WHERE slot_name = $1',
              [slot],
            )
            return row!.status === 'lost'
          },
          { what: 'the slot to be invalidated' },
        )
        rig.captor()
      },
      /removed WAL/,
    )
  })

  it('the log names another server, another timeline or a later position', async () => {
    const cases: [string, RegExp][] = [
      ["system = '1'", /another server/],
      ['timeline = timeline + 1', /another server or was promoted/],
      ['upto = upto + 1000000000', /restored to an earlier moment/],
    ]
    for (const [set, reason] of cases) {
      const { rig, captor } = await aRig()
      await expectNewGeneration(
        rig,
        async () => {
          await captor.stop()
          await rig.main.query(`UPDATE etl.etl_change_heads SET ${set}`)
          rig.captor()
        },
        reason,
      )
    }
  })
})

describe('a change that was made while the publication was missing', () => {
  it('leads to a full query, whether the server refuses the slot or skips the change', async () => {
    const { rig } = await aRig()
    const last = positionOf(await rig.open())
    const { publication } = await rig.head()
    await rig.source.query(`DROP PUBLICATION ${publication}; INSERT INTO t VALUES (3)`)
    await rig.prepare()
    const full = await waitFor(
      async () => {
        const changes = await rig.open(last)
        return changes.full !== null && changes.startCheck === 'ok' && changes
      },
      { what: 'a full query that covers everything' },
    )
    await rig.source.query('INSERT INTO t VALUES (1000)')
    await waitFor(
      async () => {
        const next = await rig.open(positionOf(full))
        // A generation that began meanwhile means one more full query.
        return next.full === null
          ? next.entries.some((entry) => entry.new?.id === '1000')
          : next.startCheck === 'ok'
      },
      { what: 'the next change' },
    )
  })
})

describe('a source that was restored to an earlier moment', () => {
  it('and has since written past the log is recognized by the commits that it sends again', async () => {
    const own = await aLogicalServer()
    onTestFinished(() => own.stop())
    const { rig, captor } = await aRig(own)
    const { generation } = await rig.head()
    // The server restarts: each statement has a connection of its own.
    const sql = <R extends pg.QueryResultRow>(text: string) =>
      withClient(rig.source.url, (client) => client.query<R>(text)).then(({ rows }) => rows)
    await captor.stop()
    const copy = `${own.dataDir}-copy`
    onTestFinished(() => rm(copy, { recursive: true, force: true }))
    await own.pause()
    await run('cp', ['-a', own.dataDir, copy])
    await own.start()
    const second = rig.captor()
    await sql('INSERT INTO t VALUES (3)')
    await waitFor(async () => (await rig.log()).length === 2, { what: 'the commit to be logged' })
    await second.stop()
    const { upto } = await rig.head()
    await own.pause()
    await rm(own.dataDir, { recursive: true })
    await run('cp', ['-a', copy, own.dataDir])
    await own.start()
    await waitFor(
      async () => {
        await sql('INSERT INTO t SELECT max(id) + 1 FROM t')
        const [row] = await sql<{ past: boolean }>(
          `SELECT pg_current_wal_lsn() > '${formatLsn(upto)}'::pg_lsn AS past`,
        )
        return row!.past
      },
      { what: 'the source to write past the log' },
    )
    rig.captor()
    await waitFor(async () => (await rig.head()).generation !== generation, { what: 'a new generation' })
    const [row] = await rig.main.query<{ lost: string }>('SELECT lost FROM etl.etl_change_heads')
    expect(row!.lost).toMatch(/does not contain the newest commit/)
  })
})
