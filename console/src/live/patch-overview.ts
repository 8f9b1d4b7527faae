import type { ActiveRun, EndedRun, FleetSummary, Overview, PipelineLine } from '../api/wire.js'
import { isOver } from '../facts/run-result.js'
import type { BatchFacts, ComparisonFacts, LiveEvent, RunEvent } from './event.js'

const BARS = 20
/** As many as the server counts. */
const MOST_HELD = 1_000

/** The overview after these events. The same object if they do not affect it. */
export function patchOverview(overview: Overview, events: readonly LiveEvent[]): Overview {
  const at = new Map(overview.items.map((line, n) => [line.id, n]))
  let items: PipelineLine[] | null = null
  let summary = overview.summary
  for (const event of events) {
    if (event.kind === 'pipeline.status') summary = patchSummary(summary, event.from, event.to)
    const n = at.get(event.pipeline_id)
    if (n === undefined) continue
    const before = (items ?? overview.items)[n]
    const after = before === undefined ? before : patchLine(before, event)
    if (after === undefined || after === before) continue
    items ??= [...overview.items]
    items[n] = after
  }
  return items === null && summary === overview.summary
    ? overview
    : { ...overview, summary, items: items ?? overview.items }
}

export function patchLine(line: PipelineLine, event: LiveEvent): PipelineLine {
  switch (event.kind) {
    case 'pipeline.status':
      return {
        ...line,
        status: event.to,
        next_run_at: event.next_run_at === undefined ? line.next_run_at : event.next_run_at,
      }
    case 'pipeline.scheduled':
      return { ...line, next_run_at: event.next_run_at }
    case 'pipeline.changed':
      return { ...line, name: event.name, enabled: event.enabled, config_version: event.config_version }
    case 'pipeline.compared':
      return { ...line, compared: { ...line.compared, ...comparisonOf(event.at, event) } }
    case 'quarantine.settled':
      return { ...line, quarantined: Math.max(0, line.quarantined - event.released) }
    case 'run.status':
      return patchRun(line, event)
    case 'run.batch':
      return event.run_id === line.current_run?.id ? patchBatch(line, event) : line
    default:
      return line
  }
}

function patchRun(line: PipelineLine, event: RunEvent): PipelineLine {
  const { run_id: runId, at, ...facts } = event
  const known = line.current_run?.id === runId ? line.current_run : null
  if (!isOver(facts.status)) return { ...line, current_run: activeRun(known, event) }
  // This end was already applied, or is older than the list.
  if (line.last_run?.id === runId) return line
  const last = endedRun(known, event)
  const { status, duration_ms, rows_read, rows_written } = last
  return {
    ...line,
    current_run: known === null ? line.current_run : null,
    last_run: last,
    last_success_at: status === 'SUCCESS' ? at : line.last_success_at,
    data_as_of: status === 'SUCCESS' ? (known?.started_at ?? line.data_as_of) : line.data_as_of,
    recent: [{ status, duration_ms, rows_read, rows_written }, ...line.recent].slice(0, BARS),
  }
}

function activeRun(known: ActiveRun | null, { run_id: id, at, ...facts }: RunEvent): ActiveRun {
  return {
    id,
    status: facts.status,
    attempt: facts.attempt,
    cancel_requested: facts.cancel_requested,
    requested_at: known?.requested_at ?? at,
    started_at: known?.started_at ?? (facts.status === 'RUNNING' ? at : null),
    batches: facts.batches,
    rows_read: facts.rows_read,
    rows_written: facts.rows_written,
    error_code: facts.error_code,
    error: facts.error,
  }
}

function endedRun(known: ActiveRun | null, { run_id: id, at, ...facts }: RunEvent): EndedRun {
  const started = known?.started_at ?? null
  return {
    id,
    status: facts.status,
    finished_at: at,
    duration_ms: started === null ? null : Math.max(0, Date.parse(at) - Date.parse(started)),
    rows_read: facts.rows_read,
    rows_written: facts.rows_written,
    rows_deleted: facts.rows_deleted,
    held_back: facts.held_back ?? null,
    error_code: facts.error_code,
    error: facts.error,
    // Not part of the event; the list is requested again shortly and contains it.
    error_hint: null,
  }
}

function comparisonOf(at: string, { deep, ...facts }: ComparisonFacts): Partial<PipelineLine['compared']> {
  const { duration_ms, config_version, matches, source_rows, target_rows } = facts
  const { missing, extra, different, on_their_way, undecided } = facts
  const comparison = {
    ...{ at, duration_ms, config_version, matches, source_rows, target_rows },
    ...{ missing, extra, different, on_their_way, undecided },
  }
  return deep ? { rows: comparison } : { counts: comparison }
}

/** A batch that is reported again after a crash has a number that was counted before. */
function patchBatch(line: PipelineLine, facts: BatchFacts): PipelineLine {
  const run = line.current_run
  if (run === null || facts.batch <= run.batches) return line
  return {
    ...line,
    quarantined: Math.min(MOST_HELD, line.quarantined + facts.rows_quarantined),
    current_run: {
      ...run,
      batches: facts.batch,
      rows_read: run.rows_read + facts.rows_read,
      rows_written: run.rows_written + facts.rows_inserted + facts.rows_updated,
    },
  }
}

const COUNTED: Readonly<Record<string, 'queued' | 'running' | 'paused' | 'failed'>> = {
  RUN_REQUESTED: 'queued',
  RUNNING: 'running',
  PAUSE_REQUESTED: 'running',
  PAUSED: 'paused',
  FAILED: 'failed',
}

function patchSummary(summary: FleetSummary, from: string, to: string): FleetSummary {
  const left = COUNTED[from]
  const entered = COUNTED[to]
  if (left === entered) return summary
  const counts = { ...summary }
  if (left !== undefined) counts[left] = Math.max(0, counts[left] - 1)
  if (entered !== undefined) counts[entered] += 1
  return counts
}
