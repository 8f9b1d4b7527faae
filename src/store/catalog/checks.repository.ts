import { type CheckResult, type CheckState, USUAL_RUNS } from '../../model/check.js'
import type { Page } from '../../ports/catalog.js'
import type { CheckFilter, CheckStore } from '../../ports/check-store.js'
import type { Database } from '../database.js'
import { pageOf, readCursor } from './page.js'

/** Results in the history of a check. */
const MOST_SHOWN = 20
/** Results of a check that were requested without a run. Those of runs end with their runs. */
const MOST_REQUESTED = 100

const RESULT = `jsonb_build_object('runId', r.run_id, 'status', r.status, 'failedRows', r.failed_rows, 'sample', r.sample,
  'observed', r.observed, 'message', r.message, 'durationMs', r.duration_ms, 'over', r.scope, 'checkedAt', etl.rfc3339(r.checked_at))`

/** Checks and their results, for the API. */
export class CatalogChecksRepository implements CheckStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listChecks({ limit, cursor, pipelineId, status }: CheckFilter): Promise<Page<CheckState>> {
    const [name, place] = cursor === undefined ? [null, null] : readCursor(cursor, 2)
    const rows = await this.#database.query<CheckState & { place: number }>(
      `SELECT p.id AS "pipelineId", p.name AS "pipelineName", c.place, c.value AS check, found.results
         FROM etl.etl_pipelines p CROSS JOIN LATERAL jsonb_array_elements(p.checks) WITH ORDINALITY AS c(value, place)
        CROSS JOIN LATERAL (
          SELECT coalesce(jsonb_agg(${RESULT} ORDER BY r.id DESC), '[]') AS results
            FROM (SELECT * FROM etl.etl_check_results r WHERE r.pipeline_id = p.id AND r.check_name = c.value ->> 'name'
                   ORDER BY r.id DESC LIMIT ${MOST_SHOWN}) AS r) AS found
        WHERE ($1::uuid IS NULL OR p.id = $1)
          AND ($2::text IS NULL OR coalesce(found.results -> 0 ->> 'status', 'unknown') = $2)
          AND ($3::text IS NULL OR (p.name, c.place) > ($3, $4::bigint))
        ORDER BY p.name, c.place LIMIT $5`,
      [pipelineId ?? null, status ?? null, name, place, limit + 1],
    )
    return pageOf(rows, limit, (row) => [row.pipelineName, row.place])
  }

  async keepResults(pipelineId: string, results: readonly CheckResult[]): Promise<void> {
    await this.#database.query(
      `WITH named AS (SELECT DISTINCT n.name FROM jsonb_to_recordset($2) AS n(name text)),
       surplus AS (
         DELETE FROM etl.etl_check_results WHERE id IN (
           SELECT older.id FROM named n CROSS JOIN LATERAL (
             SELECT r.id FROM etl.etl_check_results r
              WHERE r.pipeline_id = $1 AND r.check_name = n.name AND r.run_id IS NULL
              ORDER BY r.id DESC OFFSET ${MOST_REQUESTED - 1}) AS older))
       INSERT INTO etl.etl_check_results (pipeline_id, check_name, check_type, scope, on_failure, status, failed_rows, sample,
                                          observed, message, duration_ms)
       SELECT p.id, n.name, n.type, n.over, n."onFailure", n.status, n."failedRows",
              ARRAY(SELECT jsonb_array_elements_text(n.sample)), n.observed, n.message, n."durationMs"
         FROM etl.etl_pipelines p, jsonb_to_recordset($2) AS n(name text, type text, over text, "onFailure" text, status text,
              "failedRows" bigint, sample jsonb, observed float8, message text, "durationMs" float8)
        WHERE p.id = $1`,
      [pipelineId, JSON.stringify(results)],
    )
  }

  async usualRowsOf(pipelineId: string, check: string): Promise<number[]> {
    const rows = await this.#database.query<{ observed: number }>(
      `SELECT observed FROM etl.etl_check_results
        WHERE pipeline_id = $1 AND check_name = $2 AND run_id IS NOT NULL AND observed IS NOT NULL AND check_type = 'row_count'
          AND status IN ('passed', 'warned') ORDER BY id DESC LIMIT ${USUAL_RUNS}`,
      [pipelineId, check],
    )
    return rows.map(({ observed }) => Number(observed))
  }

  async forgetResults(days: number): Promise<void> {
    await this.#database.query(
      `DELETE FROM etl.etl_check_results WHERE id IN (
         SELECT id FROM etl.etl_check_results WHERE run_id IS NULL
            AND checked_at < clock_timestamp() - make_interval(days => $1) LIMIT 5000)`,
      [days],
    )
  }
}
