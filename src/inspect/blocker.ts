import { SESSION_PREFIX } from '../model/claim.js'
import type { Blocker } from '../model/freshness.js'
import type { Session } from '../postgres/session.js'

/**
 * Sessions of a run are named after its pipeline; those of a group after one of its members. The one at the end of a
 * queue of waiting sessions is of interest: it waits for no other. When its transaction began is visible only to members
 * of pg_read_all_stats.
 */
export async function findBlocker(
  session: Session,
  pipelines: readonly string[],
  side: Blocker['side'],
): Promise<Blocker | null> {
  const [row] = await session.rows(
    `WITH RECURSIVE waits (waiting, pid, depth) AS (
       SELECT a.pid, b.pid, 1 FROM pg_catalog.pg_stat_activity a, unnest(pg_blocking_pids(a.pid)) AS b(pid)
        WHERE a.application_name ^@ ANY ($1::text[])
       UNION
       SELECT w.waiting, b.pid, w.depth + 1 FROM waits w, unnest(pg_blocking_pids(w.pid)) AS b(pid) WHERE w.depth < 10)
     SELECT w.pid::text, h.application_name,
            to_char(h.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since,
            (SELECT l.relation::regclass::text FROM pg_locks l
              WHERE l.pid = w.waiting AND NOT l.granted AND l.relation IS NOT NULL LIMIT 1) AS "table"
       FROM waits w JOIN pg_stat_activity h ON h.pid = w.pid
      ORDER BY w.depth DESC, w.pid LIMIT 1`,
    [pipelines.map((id) => `${SESSION_PREFIX}${id}/`)],
  )
  if (row === undefined) return null
  return {
    side,
    pid: Number(row.pid),
    application: row.application_name ?? '',
    table: row.table ?? null,
    since: row.since ?? null,
  }
}
