import { join } from 'node:path'
import type pg from 'pg'
import { loadSample, type TableCounts } from '../cinema/index.js'
import { CINEMA_MARTS, type CinemaMart } from '../cinema/marts.js'
import { readPipelineFiles } from '../config/pipeline-files.js'
import { readPipelineSchema } from '../config/pipeline-schema.js'
import { quoteList } from '../sql/identifiers.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'
import { CINEMA_DIR, PIPELINE_SCHEMA } from './paths.js'

/** A pipeline of the sample data, as in its file. */
export interface DemoPipeline extends CinemaMart {
  readonly name: string
  readonly target: string
  /** The reader of its task plan, or its source query. */
  readonly query: string
  /** The functions of its task plan. */
  readonly transforms: readonly string[]
  readonly fields: Readonly<Record<string, unknown>>
}

interface TaskField {
  readonly task_type: string
  readonly body: string
}

/** Loads the sample data unless it already has films. Returns the row counts. */
export async function loadDemoSample(settings: MainSettings): Promise<TableCounts> {
  return withClient(settings.DATABASE_URL, loadSample)
}

/** The sample pipelines, in the order in which the demo presents them. */
export async function readDemoPipelines(): Promise<DemoPipeline[]> {
  const schema = readPipelineSchema(PIPELINE_SCHEMA)
  const read = async (mart: CinemaMart) => {
    const { pipelines } = await readPipelineFiles([join(CINEMA_DIR, mart.file)], schema)
    const [{ name, fields }] = pipelines as [(typeof pipelines)[number]]
    const transforms = tasksOf(fields).flatMap(({ task_type, body }) =>
      task_type === 'PYTHON' ? [body] : [],
    )
    const query = (tasksOf(fields)[0]?.body ?? fields.source_query) as string
    return { ...mart, name, target: fields.target_table as string, query, transforms, fields }
  }
  return Promise.all(CINEMA_MARTS.map(read))
}

/** Adds missing pipelines. Existing ones keep their changes. Returns the new names. */
export async function addDemoPipelines(
  settings: Pick<MainSettings, 'DATABASE_URL'>,
  pipelines: readonly DemoPipeline[],
): Promise<string[]> {
  return withClient(settings.DATABASE_URL, async (client) => {
    const added: string[] = []
    for (const pipeline of pipelines) if (await insertPipeline(client, pipeline)) added.push(pipeline.name)
    return added
  })
}

/** With SQL, not through the API: the documents give the first two their ids. */
async function insertPipeline(client: pg.Client, { id, transforms, fields }: DemoPipeline): Promise<boolean> {
  const { tasks: _, ...plain } = fields
  const row = { ...plain, id, type: transforms.length === 0 ? 'SQL' : 'PYTHON' }
  const columns = quoteList(Object.keys(row))
  // One statement, because one transaction is one version of the configuration.
  const { rowCount } = await client.query(
    `WITH made AS (INSERT INTO etl.etl_pipelines (${columns})
       SELECT ${columns} FROM jsonb_populate_record(NULL::etl.etl_pipelines, $1) ON CONFLICT DO NOTHING RETURNING id),
     planned AS (INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body)
       SELECT made.id, task.* FROM made, jsonb_to_recordset($2) AS task (order_index integer, task_type text, body text))
     SELECT FROM made`,
    [
      JSON.stringify(row),
      JSON.stringify(tasksOf(fields).map((task, n) => ({ ...task, order_index: n + 1 }))),
    ],
  )
  return rowCount === 1
}

function tasksOf(fields: DemoPipeline['fields']): readonly TaskField[] {
  return (fields.tasks ?? []) as readonly TaskField[]
}
