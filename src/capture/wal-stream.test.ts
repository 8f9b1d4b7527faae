import { afterAll, beforeAll, expect, it } from 'vitest'
import { aLogicalServer, type LogicalServer, Rig } from '../../tests/support/capture.js'
import { NO_LSN } from './lsn.js'
import { WalStream } from './wal-stream.js'

let server: LogicalServer

beforeAll(async () => {
  server = await aLogicalServer()
})

afterAll(() => server?.stop())

it('returns at once when the position that is wanted was received before', async () => {
  const rig = await Rig.create({
    server,
    sql: 'CREATE TABLE t (id int PRIMARY KEY, v text)',
    tables: [{ schema: 'public', table: 't', columns: ['v'] }],
  })
  const { publication } = await rig.head()
  await rig.source.query("SELECT pg_create_logical_replication_slot('quiet', 'pgoutput')")
  const { signal } = new AbortController()
  const stream = await WalStream.open(
    { url: rig.source.url, slot: 'quiet', publication, needs: () => new Map() },
    signal,
  )
  try {
    let reached = NO_LSN
    while (reached === NO_LSN) ({ reached } = await stream.receive({ wanted: () => NO_LSN, timeoutMs: 10 }))
    // Longer than a test may take: only the position that is already there can end this.
    const again = await stream.receive({ wanted: () => reached, timeoutMs: 600_000 })
    expect(again).toEqual({ transactions: [], reached })
  } finally {
    await stream.close()
    await rig.source.query(
      "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE slot_name = 'quiet'",
    )
    await rig.source.query("SELECT pg_drop_replication_slot('quiet')")
  }
})
