import type { QuarantinedRow } from '../../../model/history.js'
import type { Page } from '../../../ports/catalog.js'
import type { QuarantineFilter } from '../../../ports/quarantine-store.js'
import type { Queryable } from '../../database.js'
import { fromColumns, type SnakeCaseRow } from '../../from-columns.js'
import { pageBefore, pageOf, readNumberCursor } from '../page.js'

/**
 * Bytes of the values of a page, which ends after the row that exceeds them: 200 rows of 256 KiB took the API 13 s. Rows
 * after that one are not even read: measuring all of them took the database half a second.
 */
const MOST_BYTES = 1024 * 1024

/** JSON: the driver parses an array character by character, 1 MiB in 300 ms, during which nothing else is answered. */
export const QUARANTINE_COLUMNS = `
  q.id, q.pipeline_id, (SELECT p.name FROM etl.etl_pipelines p WHERE p.id = q.pipeline_id) AS pipeline_name, q.run_id, q.status, q.row_key, q.columns, to_json(q.row_text) AS row_text, q.reason, q.sqlstate, q.check_name,
  etl.rfc3339(q.refused_at) AS refused_at, etl.rfc3339(q.settled_at) AS settled_at`

export type QuarantineRow = SnakeCaseRow<Omit<QuarantinedRow, 'key' | 'row' | 'check'>> & {
  row_key: string
  columns: string[]
  row_text: (string | null)[]
  check_name: string | null
}

export function toQuarantined(row: QuarantineRow): QuarantinedRow {
  const { row_key: key, check_name: check, columns, row_text: texts, ...rest } = row
  const values = Object.fromEntries(columns.map((column, n) => [column, texts[n] ?? null]))
  return { ...fromColumns<Omit<QuarantinedRow, 'key' | 'row' | 'check'>>(rest), key, row: values, check }
}

const keysOf = ({ id }: QuarantinedRow) => [id]

export async function listQuarantine(
  database: Queryable,
  { limit, cursor, status, pipelineId }: QuarantineFilter,
): Promise<Page<QuarantinedRow>> {
  const rows = await database.query<QuarantineRow & { found: number }>(
    `WITH RECURSIVE chosen AS MATERIALIZED (
       SELECT array_agg(c.id ORDER BY c.id DESC) AS ids
         FROM (SELECT q.id FROM etl.etl_quarantine q
                WHERE ($1::uuid IS NULL OR q.pipeline_id = $1) AND ($2::text IS NULL OR q.status = $2)
                  AND ($3::bigint IS NULL OR q.id < $3)
                ORDER BY q.id DESC LIMIT $4) c),
     page AS (
       SELECT 1 AS n, 0::bigint AS bytes_before
       UNION ALL
       SELECT p.n + 1, p.bytes_before + (SELECT octet_length(array_to_string(q.row_text, ''))
                                           FROM etl.etl_quarantine q WHERE q.id = c.ids[p.n])
         FROM page p, chosen c WHERE p.n < cardinality(c.ids) AND p.bytes_before < ${MOST_BYTES})
     SELECT ${QUARANTINE_COLUMNS}, cardinality(c.ids) AS found
       FROM page p CROSS JOIN chosen c JOIN etl.etl_quarantine q ON q.id = c.ids[p.n]
      WHERE p.bytes_before < ${MOST_BYTES} ORDER BY q.id DESC`,
    [pipelineId ?? null, status ?? null, readNumberCursor(cursor), limit + 1],
  )
  const items = rows.map(({ found: _, ...row }) => toQuarantined(row))
  const isCut = rows.length < (rows[0]?.found ?? 0)
  return isCut ? pageBefore(items, keysOf) : pageOf(items, limit, keysOf)
}

export async function countQuarantine(
  database: Queryable,
  { status, pipelineId }: QuarantineFilter,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*) FROM etl.etl_quarantine q
      WHERE ($1::uuid IS NULL OR q.pipeline_id = $1) AND ($2::text IS NULL OR q.status = $2)`,
    [pipelineId ?? null, status ?? null],
  )
  return row!.count
}
