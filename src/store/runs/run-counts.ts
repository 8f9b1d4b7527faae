import type { RowCounts } from '../../model/run.js'

/** The columns of runs and batches that count rows. */
export const COUNTS = [
  'rows_read',
  'rows_inserted',
  'rows_updated',
  'rows_unchanged',
  'rows_deleted',
  'rows_quarantined',
  'rows_duplicate',
] as const

/** What the history of a run has about a batch. */
export const BATCH_COLUMNS = [
  ...(['batch', 'attempt', 'step', 'first_key', 'last_key', 'duration_ms'] as const),
  ...COUNTS,
  ...(['read_ms', 'transform_ms', 'write_ms', 'checkpoint_ms'] as const),
] as const

export function countColumns(rows: RowCounts): Readonly<Record<(typeof COUNTS)[number], number>> {
  return {
    rows_read: rows.read,
    rows_inserted: rows.inserted,
    rows_updated: rows.updated,
    rows_unchanged: rows.unchanged,
    rows_deleted: rows.deleted,
    rows_quarantined: rows.quarantined,
    rows_duplicate: rows.duplicates,
  }
}
