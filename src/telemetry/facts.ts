import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { type RowCounts, rowsWritten } from '../model/run.js'
import type { LogFields } from './log.js'

/** The run of a log line: the same fields everywhere, so that one search finds all its lines. */
export function aboutRun(claim: Claim): LogFields {
  const { pipeline, runId, attempt } = claim
  return { pipeline: pipeline.name, pipeline_id: pipeline.id, run_id: runId, attempt }
}

export function aboutRows(rows: RowCounts): LogFields {
  return {
    rows: rows.read,
    rows_written: rowsWritten(rows),
    rows_unchanged: rows.unchanged,
    rows_deleted: rows.deleted,
    rows_quarantined: rows.quarantined,
    rows_duplicate: rows.duplicates,
  }
}

export function aboutError(error: Error): LogFields {
  if (!(error instanceof VitrinaError)) return { err: error }
  const sqlstate = error.sqlstate === null ? {} : { sqlstate: error.sqlstate }
  return { code: error.code, ...sqlstate, hint: error.hint, err: error }
}

export function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
