import type { Freshness, StaleCause } from '../../model/freshness.js'
import type { FreshnessStore } from '../../ports/freshness-store.js'
import type { Database } from '../database.js'

const AGE = "date_part('epoch', clock_timestamp() - as_of.at)"
/** A mart that was never loaded gets the time of its limit after the pipeline was created. */
const TOO_OLD = `coalesce(date_part('epoch', clock_timestamp() - coalesce(as_of.at, p.created_at)) > f.budget_seconds, false)`
const FRESHNESS = `
  SELECT p.id AS "pipelineId", etl.rfc3339(as_of.at) AS "dataAsOf", ${AGE} AS "ageSeconds", f.budget_seconds AS "budgetSeconds",
         ${TOO_OLD} AS breached, etl.rfc3339(f.due_at) AS "dueAt", f.needed_seconds AS "neededSeconds",
         (SELECT n.name FROM etl.etl_pipelines n WHERE n.id = f.needed_by) AS "neededBy",
         CASE WHEN ${TOO_OLD} THEN etl.staleness(p.id) END AS cause, held.back AS "heldBack"
    FROM etl.etl_pipelines p LEFT JOIN etl.etl_freshness f ON f.pipeline_id = p.id
   CROSS JOIN LATERAL (SELECT etl.data_as_of(p.id) AS at) as_of
    LEFT JOIN LATERAL (
      SELECT r.held_back || jsonb_build_object('seconds', date_part('epoch', clock_timestamp() - (r.held_back ->> 'since')::timestamptz)) AS back
        FROM (SELECT n.held_back FROM etl.etl_runs n WHERE n.pipeline_id = p.id AND n.status IN ('RUNNING', 'SUCCESS')
               ORDER BY n.requested_at DESC, n.id DESC LIMIT 1) r
       WHERE jsonb_typeof(r.held_back) = 'object') held ON true`

export class CatalogFreshnessRepository implements FreshnessStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async freshness(pipelineId: string): Promise<Freshness | null> {
    const [row] = await this.#database.query<Freshness & Record<string, unknown>>(
      `${FRESHNESS} WHERE p.id = $1`,
      [pipelineId],
    )
    return row ?? null
  }

  async workingTogether(pipelineId: string): Promise<readonly string[]> {
    const rows = await this.#database.query<{ id: string }>(
      `SELECT o.pipeline_id AS id FROM etl.etl_pipelines p JOIN etl.etl_runs r ON r.id = p.current_run_id
         JOIN etl.etl_runs o ON o.group_run = r.group_run WHERE p.id = $1`,
      [pipelineId],
    )
    return rows.length === 0 ? [pipelineId] : rows.map(({ id }) => id)
  }

  async inherit(): Promise<void> {
    await this.#database.query('SELECT etl.inherit_freshness()')
  }

  async unnotedBreaches(): Promise<readonly Freshness[]> {
    return this.#database.query<Freshness & Record<string, unknown>>(
      `${FRESHNESS} WHERE (f.budget_seconds IS NOT NULL OR f.breached_at IS NOT NULL) AND (f.breached_at IS NOT NULL) <> ${TOO_OLD}`,
    )
  }

  async noteBreach(pipelineId: string, cause: StaleCause | null): Promise<void> {
    await this.#database.query(
      `UPDATE etl.etl_freshness SET breached_at = CASE WHEN $2::jsonb IS NOT NULL THEN clock_timestamp() END, cause = $2
        WHERE pipeline_id = $1 AND (breached_at IS NULL) = ($2::jsonb IS NOT NULL)`,
      [pipelineId, cause === null ? null : JSON.stringify(cause)],
    )
  }
}
