import type { JournalEvent } from '../../model/history.js'
import type { Journal } from '../../ports/journal.js'
import type { Database } from '../database.js'

/** One API at a time assigns numbers ("events" in hex, shortened to four bytes). */
const LOCK = 0x65766e74
/** Numbered per call, so that no transaction grows without limit. */
const MOST = 5000

export class CatalogJournalRepository implements Journal {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async number(): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      // Held until the commit is visible to all: a reader that sees number 7 can also see 6.
      await session.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const numbered = await session.query(
        `UPDATE etl.etl_events e SET seq = f.seq
           FROM (SELECT n, (SELECT coalesce(max(seq), 0) FROM etl.etl_events) + row_number() OVER (ORDER BY n) AS seq
                   FROM (SELECT n FROM etl.etl_events WHERE seq IS NULL ORDER BY n LIMIT $1) fresh) f
          WHERE e.n = f.n RETURNING e.seq`,
        [MOST],
      )
      return numbered.length === MOST
    })
  }

  async head(): Promise<number> {
    const [row] = await this.#database.query<{ seq: number }>(
      'SELECT coalesce(max(seq), 0) AS seq FROM etl.etl_events',
    )
    return row!.seq
  }

  async tail(): Promise<number> {
    const [row] = await this.#database.query<{ seq: number }>(
      'SELECT coalesce(min(seq), 0) AS seq FROM etl.etl_events',
    )
    return row!.seq
  }

  after(seq: number, limit: number): Promise<JournalEvent[]> {
    return this.#database.query<JournalEvent>(
      `SELECT seq, etl.rfc3339(at) AS at, kind, pipeline_id AS "pipelineId", run_id AS "runId", data
         FROM etl.etl_events WHERE seq > $1 ORDER BY seq LIMIT $2`,
      [seq, limit],
    )
  }

  async forget(hours: number): Promise<void> {
    // The newest is kept: the next number is counted from it.
    await this.#database.query(
      `DELETE FROM etl.etl_events WHERE at < clock_timestamp() - make_interval(hours => $1)
          AND (seq IS NULL OR seq < (SELECT max(seq) FROM etl.etl_events))`,
      [hours],
    )
    await this.#database.query(
      "DELETE FROM etl.etl_idempotency WHERE at < clock_timestamp() - interval '24 hours'",
    )
  }

  async forgetRuns(days: number): Promise<void> {
    // A few at a time: their batches and log lines are deleted with them. The latest run of a pipeline is kept
    // regardless of its age.
    await this.#database.query(
      `DELETE FROM etl.etl_runs WHERE id IN (
         SELECT r.id FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
          WHERE r.finished_at < clock_timestamp() - make_interval(days => $1) AND r.id IS DISTINCT FROM p.current_run_id LIMIT 5000)`,
      [days],
    )
  }

  async forgetSettledRows(days: number): Promise<void> {
    await this.#database.query(
      `DELETE FROM etl.etl_quarantine WHERE id IN (
         SELECT id FROM etl.etl_quarantine WHERE status IN ('REPLAYED', 'DISCARDED')
            AND settled_at < clock_timestamp() - make_interval(days => $1) LIMIT 5000)`,
      [days],
    )
  }
}
