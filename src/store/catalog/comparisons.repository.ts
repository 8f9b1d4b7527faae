import type { ComparisonStore, FoundComparison } from '../../ports/comparison-store.js'
import type { Database } from '../database.js'

/** The latest comparisons, for the overview of all pipelines. */
export class CatalogComparisonsRepository implements ComparisonStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async keep({ pipelineId, configVersion, durationMs, found }: FoundComparison): Promise<void> {
    const { matches, source, target, deep } = found
    await this.#database.query(
      `INSERT INTO etl.etl_comparisons (pipeline_id, deep, duration_ms, config_version, matches, source_rows, target_rows,
              missing, extra, different, on_their_way, undecided)
       SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM etl.etl_pipelines WHERE id = $1
       ON CONFLICT (pipeline_id, deep) DO UPDATE
          SET at = clock_timestamp(), duration_ms = excluded.duration_ms, config_version = excluded.config_version,
              matches = excluded.matches, source_rows = excluded.source_rows, target_rows = excluded.target_rows,
              missing = excluded.missing, extra = excluded.extra, different = excluded.different,
              on_their_way = excluded.on_their_way, undecided = excluded.undecided`,
      [
        pipelineId,
        deep !== null,
        durationMs,
        configVersion,
        matches,
        source.count,
        target.count,
        deep?.missing.count ?? 0,
        deep?.extra.count ?? 0,
        deep?.different.count ?? 0,
        deep?.onTheirWay ?? 0,
        deep?.undecided ?? 0,
      ],
    )
  }
}
