import type { QuarantinedRow } from '../../../model/history.js'
import type { Page } from '../../../ports/catalog.js'
import type { QuarantineFilter } from '../../../ports/quarantine-store.js'
import type { Queryable } from '../../database.js'
import { fromColumns, type SnakeCaseRow } from '../../from-columns.js'
import { pageOf, readNumberCursor } from '../page.js'

export const QUARANTINE_COLUMNS = `
  q.id, q.pipeline_id, (SELECT p.name FROM etl.etl_pipelines p WHERE p.id = q.pipeline_id) AS pipeline_name, q.run_id, q.status, q.row_key, q.columns, q.row_text, q.reason, q.sqlstate, q.check_name,
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

export async function listQuarantine(
  database: Queryable,
  { limit, cursor, status, pipelineId }: QuarantineFilter,
): Promise<Page<QuarantinedRow>> {
  const rows = await database.query<QuarantineRow>(
    `SELECT ${QUARANTINE_COLUMNS} FROM etl.etl_quarantine q
      WHERE ($1::uuid IS NULL OR q.pipeline_id = $1) AND ($2::text IS NULL OR q.status = $2) AND ($3::bigint IS NULL OR q.id < $3)
      ORDER BY q.id DESC LIMIT $4`,
    [pipelineId ?? null, status ?? null, readNumberCursor(cursor), limit + 1],
  )
  return pageOf(rows.map(toQuarantined), limit, (row) => [row.id])
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
