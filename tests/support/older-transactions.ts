import type { TestDatabase } from './database.js'
import { waitFor } from './wait.js'

/**
 * Until every transaction has ended that is open now, also those of other tests on the same server. Before that, a run
 * counts all later rows as changed, and a comparison takes them for rows that are on their way.
 */
export async function olderTransactionsEnded(database: TestDatabase): Promise<void> {
  const [now] = await database.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
  await waitFor(
    async () =>
      (
        await database.query(
          'SELECT FROM pg_current_snapshot() s WHERE pg_snapshot_xmin(s) > $1::text::xid8',
          [now!.id],
        )
      ).length > 0,
    { what: 'older transactions to end' },
  )
}
