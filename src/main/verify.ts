import { quoteList } from '../sql/identifiers.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'
import { findMart } from './marts.js'

/** How a mart compares with its query at this moment. */
export interface Verdict {
  readonly target: string
  readonly sourceRows: number
  readonly martRows: number
  /** Rows of the query that the mart does not have, and the other way round; a changed row is in both. */
  readonly missing: number
  readonly extra: number
}

/**
 * Compares a mart with its query, value by value, in one statement and so in one snapshot. Done by PostgreSQL as the
 * administrator, with nothing of the runner's code in between.
 */
export async function verifyMart(settings: MainSettings, pipelineId: string): Promise<Verdict> {
  return withClient(settings.DATABASE_URL, async (client) => {
    const { query, target, table } = await findMart(client, settings, pipelineId)
    const { fields } = await client.query(`SELECT * FROM (${query}\n) q LIMIT 0`)
    const columns = quoteList(fields.map((field) => field.name))
    const { rows } = await client.query(
      `WITH source AS MATERIALIZED (${query}\n), mart AS MATERIALIZED (SELECT ${columns} FROM ${table})
       SELECT (SELECT count(*) FROM source) AS source, (SELECT count(*) FROM mart) AS mart,
              (SELECT count(*) FROM (TABLE source EXCEPT ALL TABLE mart) d) AS missing,
              (SELECT count(*) FROM (TABLE mart EXCEPT ALL TABLE source) d) AS extra`,
    )
    const [{ source, mart, missing, extra }] = rows
    return {
      target,
      sourceRows: Number(source),
      martRows: Number(mart),
      missing: Number(missing),
      extra: Number(extra),
    }
  })
}
