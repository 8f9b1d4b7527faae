import { expect, it, onTestFinished } from 'vitest'
import { positionOf, Rig } from '../../tests/support/capture.js'
import { makeMemoryFolder } from '../../tests/support/memory-folder.js'
import { removePostgres, startPostgres } from '../../tests/support/postgres-server.js'
import { findPostgresTools, runTool } from '../../tests/support/postgres-tools.js'
import { majorOf } from '../../tests/support/server.js'

const EPOCH = 4_294_967_296n

it('restores the numbers of transactions on a cluster whose counter has wrapped five times', async ({
  skip,
}) => {
  const found = findPostgresTools()
  if ('missing' in found) return skip(found.missing)
  const { path: home } = makeMemoryFolder('vitrina-epoch')
  onTestFinished(() => removePostgres(home))
  const start = () => startPostgres({ home, bin: found.path, settings: { wal_level: 'logical' } })
  const first = await start()
  await first.stop()
  await runTool(home, ({ dataDir }) => ['pg_resetwal', '-e', '5', '-D', dataDir])
  const server = await start()
  onTestFinished(() => server.stop())
  const rig = await Rig.create({
    server: { url: server.url, prefix: 'test_', major: await majorOf(server.url), bin: found.path },
    sql: 'CREATE TABLE t (id int PRIMARY KEY)',
    tables: [{ schema: 'public', table: 't', columns: [] }],
  })
  rig.captor()
  const last = positionOf(await rig.open())
  const open = await rig.source.client()
  await open.query('BEGIN; INSERT INTO t VALUES (1)')
  const [row] = await rig.source.query<{ xid: string }>(
    'INSERT INTO t VALUES (2) RETURNING pg_current_xact_id()::text AS xid',
  )
  const changes = await rig.open(last)
  expect(changes.entries.map(({ xid, new: next }) => [xid, next])).toEqual([[BigInt(row!.xid), { id: '2' }]])
  expect(changes.entries[0]!.xid / EPOCH).toBe(5n)
  // Without the epoch, 2 would be visible to every snapshot, and so would an open transaction.
  expect(changes.held).toBe(0)
  await open.query('COMMIT')
  const next = await rig.open(positionOf(changes))
  expect(next.entries.map((entry) => entry.new)).toEqual([{ id: '1' }])
})
