import type { RunEnd, RunTotals } from '../../model/claim.js'
import { NO_ROWS } from '../../model/run.js'
import { redactText } from '../../telemetry/redact.js'

/** What etl.finish_run and etl.finish_group take. */
export function toOutcome(end: RunEnd): RunEnd {
  if (end.status !== 'FAILED') return end
  return { ...end, error: redactText(end.error), hint: redactText(end.hint) }
}

/** What etl.finish_run returns. */
export type FinishedRun =
  | { readonly end: 'lost' | 'repairs' }
  | { readonly end: 'ended'; readonly run: TotalsRow | null }

/** What etl.finish_group returns. */
export type FinishedGroup =
  | { readonly end: 'lost' | 'repairs' }
  | { readonly end: 'ended'; readonly runs: readonly (TotalsRow | null)[] }

interface TotalsRow {
  batches: number
  rows_read: number
  rows_inserted: number
  rows_updated: number
  rows_unchanged: number
  rows_deleted: number
  rows_quarantined: number
  rows_duplicate: number
  duration_ms: number
}

/** The result is unknown if the run was deleted from the history while it was in progress. */
export function toTotals(row: TotalsRow | null): RunTotals {
  if (row === null) return { rows: NO_ROWS, batches: 0, durationMs: 0 }
  const rows = {
    read: row.rows_read,
    inserted: row.rows_inserted,
    updated: row.rows_updated,
    unchanged: row.rows_unchanged,
    deleted: row.rows_deleted,
    quarantined: row.rows_quarantined,
    duplicates: row.rows_duplicate,
  }
  return { rows, batches: row.batches, durationMs: row.duration_ms }
}
