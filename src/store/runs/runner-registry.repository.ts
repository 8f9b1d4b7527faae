import type { RunnerInfo, StalledRun } from '../../model/claim.js'
import type { RunnerRegistry } from '../../ports/runner-registry.js'
import { ALIVE } from '../alive.js'
import type { Database } from '../database.js'
import { MetaStore } from '../meta-store.js'

/** The runners that are there, and the queued runs that none of them takes. */
export class RunnerRegistryRepository implements RunnerRegistry {
  readonly #database: MetaStore

  constructor(database: Database) {
    this.#database = new MetaStore(database)
  }

  async heartbeat(runner: RunnerInfo): Promise<void> {
    await this.#database.query(
      `INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, tags, connection_limits) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = clock_timestamp(), stopped_at = NULL`,
      [
        runner.id,
        runner.host,
        runner.pid,
        runner.version,
        runner.concurrency,
        runner.tags === null ? null : JSON.stringify(runner.tags),
        JSON.stringify(runner.connectionLimits),
      ],
    )
    await this.#database.query(
      "DELETE FROM etl.etl_runners WHERE heartbeat_at < clock_timestamp() - interval '1 day'",
    )
  }

  async gone(runnerId: string): Promise<void> {
    await this.#database.query('UPDATE etl.etl_runners SET stopped_at = clock_timestamp() WHERE id = $1', [
      runnerId,
    ])
  }

  async markStalled(): Promise<StalledRun[]> {
    // Requests of the last seconds are left out: a runner that takes them may be starting.
    return this.#database.query<StalledRun & { runId: string }>(
      `WITH alive AS (
         SELECT tags FROM etl.etl_runners WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - ${ALIVE}),
       untaken AS (
         SELECT queued.tags FROM (SELECT DISTINCT tags FROM etl.etl_pipelines WHERE status = 'RUN_REQUESTED' AND enabled) queued
          WHERE NOT EXISTS (SELECT FROM alive WHERE etl.runner_takes(alive.tags, queued.tags)))
       UPDATE etl.etl_runs r SET stalled_since = clock_timestamp() FROM etl.etl_pipelines p JOIN untaken USING (tags)
        WHERE r.id = p.current_run_id AND p.status = 'RUN_REQUESTED' AND p.enabled
          AND p.requested_at < clock_timestamp() - ${ALIVE} AND r.stalled_since IS NULL
       RETURNING r.id AS "runId", p.id AS "pipelineId", p.name AS "pipelineName", p.tags`,
    )
  }
}
