import type { ActiveRun, PipelineLine } from '../api/wire.js'

export interface Progress {
  /** Of the rows that the last full run read: an estimate, and said to be one. Null: nothing to compare with. */
  readonly share: number | null
  readonly rowsPerSecond: number | null
  readonly etaMs: number | null
}

export function progressOf(
  line: Pick<PipelineLine, 'mode' | 'last_run'>,
  run: ActiveRun,
  now: number,
): Progress {
  const elapsed = run.started_at === null ? 0 : Math.max(0, now - Date.parse(run.started_at))
  const rowsPerSecond = elapsed < 500 ? null : (run.rows_read / elapsed) * 1000
  const total = line.mode === 'full' && line.last_run?.status === 'SUCCESS' ? line.last_run.rows_read : 0
  if (total === 0 || run.rows_read === 0 || run.rows_read > total)
    return { share: null, rowsPerSecond, etaMs: null }
  const share = run.rows_read / total
  return { share, rowsPerSecond, etaMs: share < 0.02 ? null : (elapsed / share) * (1 - share) }
}

/** Of a run that ended. */
export function rateOf(run: {
  readonly rows_read: number
  readonly duration_ms: number | null
}): number | null {
  return run.duration_ms === null || run.duration_ms < 1 ? null : (run.rows_read / run.duration_ms) * 1000
}
