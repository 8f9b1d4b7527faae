import type { ScheduledPipeline } from '../../model/claim.js'
import type { DueByFreshness, DueRuns, TablesOf } from '../../ports/due-runs.js'
import { findPipeline } from '../catalog/find.js'
import type { Database } from '../database.js'
import { MetaStore } from '../meta-store.js'
import { type NamesOfConnection, noteTables } from './note-tables.js'
import { DUE_BY_FRESHNESS, DUE_SCHEDULES, REQUEST_DUE } from './run-statements.js'

/** Which runs are due. The database decides, so that any runner can ask. */
export class DueRunsRepository implements DueRuns {
  readonly #database: MetaStore
  readonly #namesOf: NamesOfConnection

  constructor(database: Database, namesOf: NamesOfConnection = (connection) => [connection]) {
    this.#database = new MetaStore(database)
    this.#namesOf = namesOf
  }

  async requestDue(): Promise<string[]> {
    const rows = await this.#database.query<{ id: string }>(REQUEST_DUE)
    return rows.map(({ id }) => id)
  }

  async requestByFreshness(learned: readonly string[]): Promise<DueByFreshness> {
    const rows = await this.#database.query<{
      id: string | null
      name: string
      known: boolean
      ms: number | null
    }>(DUE_BY_FRESHNESS, [learned])
    const due = rows.flatMap(({ id, name, known }) => (id === null ? [] : [{ id, name, known }]))
    const ms = rows[0]?.ms ?? null
    return {
      requested: due.filter(({ known }) => known).map(({ name }) => name),
      unknown: due.filter(({ known }) => !known).map(({ id }) => id),
      againMs: ms === null ? null : Math.max(Math.ceil(ms), 1),
    }
  }

  async learnReads(ids: readonly string[], tablesOf: TablesOf): Promise<void> {
    for (const id of ids) {
      const pipeline = await findPipeline(this.#database, id)
      const tables = pipeline === null ? [] : await tablesOf(pipeline)
      if (pipeline === null || tables.length === 0) continue
      await noteTables(this.#database, { pipeline, names: this.#namesOf(pipeline.sourceConnection), tables })
      // An API looks behind the views.
      await this.#database.query(
        'INSERT INTO etl.etl_known_reads (pipeline_id, in_full) VALUES ($1, false) ON CONFLICT DO NOTHING',
        [id],
      )
    }
    // What they follow needs the same freshness.
    await this.#database.query('SELECT etl.inherit_freshness()')
  }

  async dueSchedules(): Promise<{ now: string; pipelines: ScheduledPipeline[] }> {
    const rows = await this.#database.query<{
      now: string
      id: string | null
      name: string
      schedule: string | null
      timezone: string
      live: boolean
      next_run_at: string | null
    }>(DUE_SCHEDULES)
    const pipelines = rows.flatMap((row) =>
      row.id === null
        ? []
        : [
            {
              id: row.id,
              name: row.name,
              schedule: row.live ? null : row.schedule,
              timezone: row.timezone,
              nextRunAt: row.next_run_at,
            },
          ],
    )
    return { now: rows[0]!.now, pipelines }
  }

  async reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      await session.query("SELECT set_config('vitrina.trigger', 'schedule', true)")
      // The old time is the ticket: of two runners that see the same tick, one finds it changed. SKIP LOCKED: a psql
      // session that holds the row must not block the runner for all other pipelines; the next tick retries.
      const rows = await session.query(
        `UPDATE etl.etl_pipelines
            SET next_run_at = $2, status = CASE WHEN $3 THEN 'RUN_REQUESTED' ELSE status END
          WHERE id = (SELECT id FROM etl.etl_pipelines
                       WHERE id = $1 AND next_run_at IS NOT DISTINCT FROM $4::timestamptz AND (NOT $3 OR status = 'IDLE')
                         FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id`,
        [pipeline.id, next, start, pipeline.nextRunAt],
      )
      return rows.length === 1
    })
  }
}
