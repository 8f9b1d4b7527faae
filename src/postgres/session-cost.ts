import type { RunCost } from '../model/run.js'
import { kept } from './kept-statements.js'
import type { Session } from './session.js'

/** What connections had cost when they were last measured. One that serves several runs counts from there. */
const MEASURED = new WeakMap<Session['connection'], RunCost>()

/** From this version on the server counts for one session. */
const COUNTING_VERSION = 180_000

/**
 * What a session has cost its server since it was last asked; null: the server does not report it for one session
 * (before PostgreSQL 18). Outside a transaction, because statistics are written when one ends.
 */
export async function sessionCost(session: Session): Promise<RunCost | null> {
  if (session.connection.server.number < COUNTING_VERSION) return null
  // The server counts when it has answered a statement, so that the second one finds what was counted.
  const [, [row]] = await session.together(() => Promise.all([session.rows(FLUSH), session.rows(COST)]))
  const now = { blocksRead: Number(row!.blocks), walBytes: Number(row!.wal) }
  const before = MEASURED.get(session.connection) ?? { blocksRead: 0, walBytes: 0 }
  MEASURED.set(session.connection, now)
  return { blocksRead: now.blocksRead - before.blocksRead, walBytes: now.walBytes - before.walBytes }
}

const FLUSH = kept('SELECT pg_stat_force_next_flush()')
// Hits are blocks; a read may fetch several at once.
const COST = kept(`
  SELECT (SELECT coalesce(sum(i.hits + coalesce(i.read_bytes, 0) / current_setting('block_size')::int), 0)
            FROM pg_stat_get_backend_io(pg_backend_pid()) i WHERE i.object = 'relation')::bigint::text AS blocks,
         (SELECT coalesce(sum(w.wal_bytes), 0) FROM pg_stat_get_backend_wal(pg_backend_pid()) w)::bigint::text AS wal`)

export function addCosts(costs: readonly (RunCost | null)[]): RunCost | null {
  const known = costs.filter((cost) => cost !== null)
  if (known.length < costs.length) return null
  return {
    blocksRead: known.reduce((sum, { blocksRead }) => sum + blocksRead, 0),
    walBytes: known.reduce((sum, { walBytes }) => sum + walBytes, 0),
  }
}
