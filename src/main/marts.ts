import type pg from 'pg'
import { DEMO_PIPELINES } from '../cinema/pipelines.js'
import { SqlGuard } from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, readerQuery } from '../model/pipeline.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { parseTable, quoteTable } from '../sql/identifiers.js'
import { PIPELINE_COLUMNS, type PipelineRow, toPipeline } from '../store/rows.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'

/** A mart as people see it. */
export interface MartView {
  readonly target: string
  readonly sourceRows: number
  readonly martRows: number
  readonly columns: readonly string[]
  readonly firstRows: readonly (string | null)[][]
}

export async function readMart(settings: MainSettings, pipelineId: string, limit: number): Promise<MartView> {
  return withClient(settings.DATABASE_URL, async (client) => {
    const { query, target, table } = await findMart(client, settings, pipelineId)
    const [counts] = (
      await client.query(
        `SELECT (SELECT count(*) FROM (${query}\n) q) AS source, (SELECT count(*) FROM ${table}) AS mart`,
      )
    ).rows
    const first = await client.query({
      text: `SELECT * FROM ${table} ORDER BY 1 LIMIT ${limit}`,
      rowMode: 'array',
      types: AS_TEXT,
    })
    return {
      target,
      sourceRows: Number(counts.source),
      martRows: Number(counts.mart),
      columns: first.fields.map((field) => field.name),
      firstRows: first.rows as (string | null)[][],
    }
  })
}

export function demoPipelines(): readonly { id: string; name: string }[] {
  return DEMO_PIPELINES
}

const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string | Buffer) => text }

export interface Mart {
  /** The pipeline's query as the server reads it, and its target as written and as SQL. */
  readonly query: string
  readonly target: string
  readonly table: string
}

/**
 * From the database, not from our own list: somebody may have changed the pipeline since. So its query is judged like any
 * other, and from now on this client resolves no names of others: it is the administrator who runs it.
 */
export async function findMart(client: pg.Client, settings: MainSettings, pipelineId: string): Promise<Mart> {
  const { rows } = await client.query<PipelineRow>(
    `SELECT ${PIPELINE_COLUMNS} FROM etl.etl_pipelines p WHERE p.id = $1`,
    [pipelineId],
  )
  const [row] = rows
  if (row === undefined) {
    throw new VitrinaError(
      'PIPELINE_NOT_FOUND',
      `There is no pipeline ${pipelineId}.`,
      'Start the demo again: it adds the pipelines that are missing.',
    )
  }
  const pipeline = toPipeline(row)
  const target = finalTarget(pipeline)
  const query = await judged(settings, readerQuery(pipeline))
  await client.query(`${READ_ONLY}; SET search_path = ''`)
  return { query, target, table: quoteTable(parseTable(target)) }
}

async function judged(settings: MainSettings, query: string): Promise<string> {
  const session = await Session.open(settings.DATABASE_URL, 'vitrina-demo', new AbortController().signal)
  try {
    const guard = new SqlGuard({ sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS })
    return await guard.textToRun(query, session)
  } finally {
    await session.close()
  }
}
