import type { KeptProfile, MartProfile } from '../../model/mart-data.js'
import { finalTarget, type Pipeline } from '../../model/pipeline.js'
import type { ProfileStore } from '../../ports/profile-store.js'
import type { Database } from '../database.js'

/** A run counts from its start: its rows become visible batch by batch. */
const COLUMNS = `
  f.pipeline_id AS "pipelineId", etl.rfc3339(f.at) AS "computedAt", f.duration_ms AS "durationMs",
  f.config_version AS "configVersion", f.target, f.profile,
  f.target <> $2 OR EXISTS (
    SELECT FROM etl.etl_runs r WHERE r.pipeline_id = f.pipeline_id AND r.rows_written + r.rows_deleted > 0
       AND (r.finished_at IS NULL OR r.finished_at > f.at)) AS outdated`

export class CatalogProfilesRepository implements ProfileStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(pipeline: Pipeline): Promise<KeptProfile | null> {
    const [row] = await this.#database.query<KeptProfile & Record<string, unknown>>(
      `SELECT ${COLUMNS} FROM etl.etl_profiles f WHERE f.pipeline_id = $1`,
      [pipeline.id, finalTarget(pipeline)],
    )
    return row ?? null
  }

  async keep(pipeline: Pipeline, profile: MartProfile, durationMs: number): Promise<KeptProfile | null> {
    const [row] = await this.#database.query<KeptProfile & Record<string, unknown>>(
      `INSERT INTO etl.etl_profiles AS f (pipeline_id, target, duration_ms, config_version, profile)
       SELECT id, $2, $3, $4, $5 FROM etl.etl_pipelines WHERE id = $1
       ON CONFLICT (pipeline_id) DO UPDATE
          SET at = clock_timestamp(), target = excluded.target, duration_ms = excluded.duration_ms,
              config_version = excluded.config_version, profile = excluded.profile
       RETURNING ${COLUMNS}`,
      [pipeline.id, finalTarget(pipeline), durationMs, pipeline.configVersion, JSON.stringify(profile)],
    )
    return row ?? null
  }
}
