import type { ConnectionUse } from '../../model/connection.js'
import type { StoreFacts } from '../../ports/catalog.js'
import type { Queryable } from '../database.js'

/** The last step of a plan may override the target. */
export function listConnectionUses(database: Queryable): Promise<ConnectionUse[]> {
  return database.query<ConnectionUse>(
    `SELECT p.id, p.name, p.source_connection AS "sourceConnection", p.target_connection AS "targetConnection",
            coalesce((SELECT t.target_table FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = p.id
                       ORDER BY t.order_index DESC LIMIT 1), p.target_table) AS target
       FROM etl.etl_pipelines p ORDER BY p.name, p.id`,
  )
}

export async function describeStore(database: Queryable): Promise<StoreFacts> {
  const [row] = await database.query<StoreFacts>(
    `SELECT current_setting('server_version') AS version,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('name', name, 'appliedAt', etl.rfc3339(applied_at)) ORDER BY name), '[]')
               FROM etl.schema_migrations) AS migrations`,
  )
  return row!
}
