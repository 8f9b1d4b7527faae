import type { InfiniteData } from '@tanstack/react-query'
import type { Batch, Run, RunDetail, RunPage } from '../api/wire.js'
import { isOver } from '../facts/run-result.js'
import type { BatchFacts, LiveEvent, RunFacts } from './event.js'

/** As many as GET /runs/{id} returns. */
const BATCHES_SHOWN = 1_000

/** Pages of runs after these events; the same object if they do not affect it. */
export function patchRunPages(
  data: InfiniteData<RunPage>,
  events: readonly LiveEvent[],
): InfiniteData<RunPage> {
  const changed = new Set(events.map(({ run_id }) => run_id))
  let isChanged = false
  const pages = data.pages.map((page) => {
    if (!page.items.some(({ id }) => changed.has(id))) return page
    isChanged = true
    const patched = (run: Run) => events.filter(({ run_id }) => run_id === run.id).reduce(patchRun, run)
    return { ...page, items: page.items.map((run) => (changed.has(run.id) ? patched(run) : run)) }
  })
  return isChanged ? { ...data, pages } : data
}

/** A run with its batches, after these events. */
export function patchRunDetail(detail: RunDetail, events: readonly LiveEvent[]): RunDetail {
  return events.filter(({ run_id }) => run_id === detail.id).reduce(patchDetail, detail)
}

function patchDetail(detail: RunDetail, event: LiveEvent): RunDetail {
  const run = patchRun(detail, event)
  if (event.kind !== 'run.batch' || detail.batch_history.some(({ batch }) => batch === event.batch))
    return { ...detail, ...run }
  return {
    ...detail,
    ...run,
    batch_history: [toBatch(event, event.at), ...detail.batch_history].slice(0, BATCHES_SHOWN),
  }
}

function patchRun(run: Run, event: LiveEvent): Run {
  if (event.kind === 'run.status') return withStatus(run, event.at, event)
  // A batch that is reported again after a crash has a number that was counted before.
  if (event.kind === 'run.batch' && event.batch > run.batches) return withBatch(run, event)
  return run
}

function withStatus(run: Run, at: string, facts: RunFacts): Run {
  // The loaded run may be newer than the event: nothing follows an end.
  if (isOver(run.status) && !isOver(facts.status)) return run
  const { status, attempt, cancel_requested, runner_id, error, error_code } = facts
  const { batches, rows_read, rows_written, rows_deleted } = facts
  const started_at = run.started_at ?? (status === 'RUNNING' ? at : null)
  const finished_at = isOver(status) ? (run.finished_at ?? at) : null
  return {
    ...run,
    ...{ status, attempt, cancel_requested, runner_id, error, error_code },
    waiting: status === 'REQUESTED' ? run.waiting : null,
    ...{ batches, rows_read, rows_written, rows_deleted, started_at, finished_at },
    duration_ms: durationOf(started_at, finished_at) ?? run.duration_ms,
  }
}

function durationOf(started: string | null, finished: string | null): number | null {
  return started === null || finished === null
    ? null
    : Math.max(0, Date.parse(finished) - Date.parse(started))
}

function withBatch(run: Run, facts: BatchFacts): Run {
  return {
    ...run,
    batches: facts.batch,
    rows_read: run.rows_read + facts.rows_read,
    rows_written: run.rows_written + facts.rows_inserted + facts.rows_updated,
    rows_inserted: run.rows_inserted + facts.rows_inserted,
    rows_updated: run.rows_updated + facts.rows_updated,
    rows_unchanged: run.rows_unchanged + facts.rows_unchanged,
    rows_deleted: run.rows_deleted + facts.rows_deleted,
    rows_quarantined: run.rows_quarantined + facts.rows_quarantined,
    rows_duplicate: run.rows_duplicate + facts.rows_duplicate,
  }
}

/** Events contain no keys; the run is requested again shortly and contains them. */
function toBatch(facts: BatchFacts, at: string): Batch {
  const { batch, attempt, step, duration_ms } = facts
  const { rows_read, rows_inserted, rows_updated, rows_unchanged, rows_deleted, rows_quarantined } = facts
  const { rows_duplicate } = facts
  const { read_ms = null, transform_ms = null, write_ms = null, checkpoint_ms = null } = facts
  return {
    ...{ batch, attempt, step, duration_ms, finished_at: at, first_key: null, last_key: null },
    ...{ read_ms, transform_ms, write_ms, checkpoint_ms },
    ...{ rows_read, rows_inserted, rows_updated, rows_unchanged, rows_deleted, rows_quarantined },
    rows_duplicate,
  }
}
