import type pg from 'pg'
import { type Counts, loadSample } from '../cinema/index.js'
import { DEMO_PIPELINES } from '../cinema/pipelines.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'

/** Loads the sample cinema; one that has films is left alone. Answers the rows that are there. */
export async function loadCinema(settings: MainSettings): Promise<Counts> {
  return withClient(settings.DATABASE_URL, loadSample)
}

/** Adds the demo pipelines that are missing. Those that are there keep what somebody made of them. Answers the new names. */
export async function addDemoPipelines(settings: MainSettings): Promise<string[]> {
  return withClient(settings.DATABASE_URL, async (client) => {
    const added: string[] = []
    for (const pipeline of DEMO_PIPELINES)
      if (await insertPipeline(client, pipeline)) added.push(pipeline.name)
    return added
  })
}

async function insertPipeline(
  client: pg.Client,
  pipeline: (typeof DEMO_PIPELINES)[number],
): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO etl.etl_pipelines (id, name, description, source_query, target_table, key_columns)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    [
      pipeline.id,
      pipeline.name,
      pipeline.description,
      pipeline.sourceQuery,
      pipeline.targetTable,
      pipeline.keyColumns,
    ],
  )
  return rowCount === 1
}
