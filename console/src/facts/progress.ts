import type { ActiveRun, PipelineLine } from '../api/wire.js'

export interface Progress {
  /** Share of the rows that the last full run read, an estimate. Null: nothing to compare with. */
  readonly share: number | null
  readonly rowsPerSecond: number | null
  readonly etaMs: number | null
}

export function progressOf(
  line: Pick<PipelineLine, 'mode' | 'last_run'>,
  run: ActiveRun,
  now: number,
): Progress {
  const isKnown = line.mode === 'full' && line.last_run?.status === 'SUCCESS'
  return progressTo(isKnown ? (line.last_run?.rows_read ?? null) : null, run, now)
}

/** Progress towards `total` rows; null: the total is unknown. */
export function progressTo(
  total: number | null,
  run: Pick<ActiveRun, 'started_at' | 'rows_read'>,
  now: number,
): Progress {
  const elapsed = run.started_at === null ? 0 : Math.max(0, now - Date.parse(run.started_at))
  const rowsPerSecond = elapsed < 500 ? null : (run.rows_read / elapsed) * 1000
  const share = shareOf(total, run.rows_read)
  const etaMs = share === null || share < 0.02 ? null : (elapsed / share) * (1 - share)
  return { share, rowsPerSecond, etaMs }
}

/** More rows than last time allow no estimate. */
export function shareOf(total: number | null, read: number): number | null {
  return total === null || total === 0 || read === 0 || read > total ? null : read / total
}

/** Rows per second of a finished run. */
export function rateOf(run: {
  readonly rows_read: number
  readonly duration_ms: number | null
}): number | null {
  return run.duration_ms === null || run.duration_ms < 1 ? null : (run.rows_read / run.duration_ms) * 1000
}
