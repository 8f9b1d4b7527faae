import type { Pipeline } from '../../model/pipeline.js'

/** The fields of a pipeline that can be written and read. */
export function fieldsToWire(pipeline: Pipeline) {
  return {
    name: pipeline.name,
    description: pipeline.description,
    type: pipeline.type,
    source_type: pipeline.sourceType,
    source_connection: pipeline.sourceConnection,
    source_query: pipeline.sourceQuery,
    source_table: pipeline.sourceTable,
    source_columns: [...pipeline.sourceColumns],
    target_table: pipeline.targetTable,
    target_connection: pipeline.targetConnection,
    shared_target: pipeline.sharedTarget,
    target_options: { ...pipeline.targetOptions },
    mode: pipeline.mode,
    full_strategy: pipeline.fullStrategy,
    incremental_key: pipeline.incrementalKey,
    incremental_id_key: pipeline.incrementalIdKey,
    capture: pipeline.capture,
    deletes: pipeline.deletes,
    key_columns: [...pipeline.keyColumns],
    batch_size: pipeline.batchSize ?? ('auto' as const),
    enabled: pipeline.enabled,
    schedule_interval: pipeline.scheduleInterval,
    schedule_timezone: pipeline.scheduleTimezone,
    quarantine_limit: pipeline.quarantineLimit,
    delete_brake: pipeline.deleteBrake,
  }
}
