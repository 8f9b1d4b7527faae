import { z } from 'zod'
import type { PipelineLine } from '../../model/overview.js'
import type { Comparison } from '../../model/reconcile.js'
import { PIPELINE_STATUSES, RUN_STATUSES } from '../../model/status.js'
import type { PipelineLines } from '../services/pipelines.js'
import { pageOf, pageQueryUpTo } from './page.js'
import { listPipelinesQuery } from './pipeline.js'
import { heldBackToWire, heldBackWire } from './run.js'

export const overviewQuery = listPipelinesQuery.extend({
  ...pageQueryUpTo(1000),
  target: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('How the target begins, such as `es:` or `analytics.`: that kind of mart only.'),
  q: listPipelinesQuery.shape.q.describe('A part of the name or of the target, whatever its case.'),
})

const count = (what: string) => z.number().describe(what)
const when = (what: string) => z.string().nullable().describe(what)
const runStatus = z.enum(RUN_STATUSES).describe('The status of the run.')
const duration = z.number().nullable().describe('From its start to its end.')
const error = {
  error_code: when('The code of its last error.'),
  error: when('What went wrong, of a running one in an earlier attempt.'),
}

const activeRunWire = z.object({
  id: z.string().describe('The id of the run.'),
  status: runStatus,
  attempt: count('Tries so far.'),
  cancel_requested: z.boolean().describe('It stops after its current batch.'),
  requested_at: z.string().describe('When it was asked for.'),
  started_at: when('When a runner first took it.'),
  batches: count('Batches committed.'),
  rows_read: count('Rows that the source gave.'),
  rows_written: count('Rows inserted and updated together.'),
  ...error,
})

const endedRunWire = z.object({
  id: z.string().describe('The id of the run.'),
  status: runStatus,
  finished_at: z.string().describe('When it ended.'),
  duration_ms: duration,
  rows_read: count('Rows that the source gave.'),
  rows_written: count('Rows inserted and updated together.'),
  rows_deleted: count('Rows removed from the mart.'),
  held_back: heldBackWire.nullable().describe('What kept its checkpoint from moving on.'),
  ...error,
  error_hint: when('What can be done about it.'),
})

const comparisonWire = z
  .object({
    at: z.string().describe('When it ended.'),
    duration_ms: count('How long it took.'),
    config_version: count('The version of the configuration that was compared.'),
    matches: z.boolean().describe('Nothing differed.'),
    source_rows: count('Rows that the query gave.'),
    target_rows: count('Rows that the mart held.'),
    missing: count('Rows in the source, not in the mart; 0 when only counts were compared.'),
    extra: count('Rows in the mart, not in the source; 0 when only counts were compared.'),
    different: count('Rows in both with other values; 0 when only counts were compared.'),
    on_their_way: count('Rows that the pipeline had not come to yet; no drift.'),
    undecided: count('How many of those might have been drift all the same.'),
  })
  .meta({ id: 'Comparison' })

const barWire = z.object({
  status: runStatus,
  duration_ms: duration,
  rows_read: count('Rows that the source gave.'),
  rows_written: count('Rows inserted and updated together.'),
})

const lineWire = z
  .object({
    id: z.string().describe('The id of the pipeline.'),
    name: z.string().describe('Its name.'),
    description: z.string().describe('What it is for.'),
    type: z.enum(['SQL', 'PYTHON']).describe('SQL: a query only. PYTHON: with registered transforms.'),
    target_table: z.string().describe('What it fills.'),
    target_connection: z.string().nullable().describe('The database of the target; null: the main one.'),
    mode: z.enum(['full', 'incremental']).describe('How it reads.'),
    enabled: z.boolean().describe('Runners work on enabled pipelines only.'),
    status: z.enum(PIPELINE_STATUSES).describe('Where it stands in its life cycle.'),
    config_version: count('The version of its configuration.'),
    schedule_interval: when('When it runs by itself.'),
    schedule_timezone: z.string().describe('The zone of the schedule.'),
    schedule_period_ms: z
      .number()
      .nullable()
      .describe('The time between two runs of the schedule: data that is older is late.'),
    next_run_at: when('When it runs next.'),
    last_success_at: when('When a run last succeeded: the mart is as of then.'),
    quarantined: count('Rows in quarantine that nobody settled yet; counted up to 1,000.'),
    compared: z
      .object({
        counts: comparisonWire.nullable().describe('The last comparison of counts; null: there was none.'),
        rows: comparisonWire.nullable().describe('The last comparison of every row; null: there was none.'),
      })
      .describe('What GET /pipelines/{id}/reconcile last found, whoever asked.'),
    current_run: activeRunWire.nullable().describe('The run that is requested or under way.'),
    last_run: endedRunWire.nullable().describe('The last run that ended.'),
    recent: z.array(barWire).describe('The last 20 runs that ended, newest first.'),
  })
  .meta({ id: 'PipelineLine' })

const summaryWire = z
  .object({
    now: z.string().describe('The clock of the database.'),
    pipelines: count('All pipelines.'),
    queued: count('Those that wait for a runner.'),
    running: count('Those that a runner works on.'),
    paused: count('Those that somebody paused.'),
    failed: count('Those whose last run failed.'),
    disabled: count('Those that are disabled.'),
    runners_alive: count('Runners that gave a sign of life within 15 s.'),
    runners_known: count('Runners that did not end in order.'),
  })
  .meta({ id: 'FleetSummary' })

export const overviewWire = pageOf(lineWire).extend({
  summary: summaryWire.describe('The whole fleet, whatever the filter.'),
})

export function overviewToWire({ page, fleet }: PipelineLines): z.infer<typeof overviewWire> {
  const { runnersAlive, runnersKnown, ...counts } = fleet
  return {
    items: page.items.map(lineToWire),
    next_cursor: page.nextCursor,
    summary: { ...counts, runners_alive: runnersAlive, runners_known: runnersKnown },
  }
}

function lineToWire(line: PipelineLines['page']['items'][number]): z.infer<typeof lineWire> {
  return {
    id: line.id,
    name: line.name,
    description: line.description,
    type: line.type,
    target_table: line.targetTable,
    target_connection: line.targetConnection,
    mode: line.mode,
    enabled: line.enabled,
    status: line.status,
    config_version: line.configVersion,
    schedule_interval: line.scheduleInterval,
    schedule_timezone: line.scheduleTimezone,
    schedule_period_ms: line.periodMs,
    next_run_at: line.nextRunAt,
    last_success_at: line.lastSuccessAt,
    quarantined: line.quarantined,
    compared: {
      counts: line.compared.counts === null ? null : comparisonToWire(line.compared.counts),
      rows: line.compared.rows === null ? null : comparisonToWire(line.compared.rows),
    },
    current_run: line.current === null ? null : activeToWire(line.current),
    last_run: line.last === null ? null : endedToWire(line.last),
    recent: line.recent.map((bar) => ({
      status: bar.status,
      duration_ms: bar.durationMs,
      rows_read: bar.rowsRead,
      rows_written: bar.rowsWritten,
    })),
  }
}

function activeToWire(run: NonNullable<PipelineLine['current']>): z.infer<typeof activeRunWire> {
  return {
    id: run.id,
    status: run.status,
    attempt: run.attempt,
    cancel_requested: run.cancelRequested,
    requested_at: run.requestedAt,
    started_at: run.startedAt,
    batches: run.batches,
    rows_read: run.rowsRead,
    rows_written: run.rowsWritten,
    error_code: run.errorCode,
    error: run.error,
  }
}

function endedToWire(run: NonNullable<PipelineLine['last']>): z.infer<typeof endedRunWire> {
  return {
    id: run.id,
    status: run.status,
    finished_at: run.finishedAt,
    duration_ms: run.durationMs,
    rows_read: run.rowsRead,
    rows_written: run.rowsWritten,
    rows_deleted: run.rowsDeleted,
    held_back: run.heldBack === null ? null : heldBackToWire(run.heldBack),
    error_code: run.errorCode,
    error: run.error,
    error_hint: run.errorHint,
  }
}

function comparisonToWire(comparison: Comparison): z.infer<typeof comparisonWire> {
  const { at, matches, missing, extra, different, undecided } = comparison
  return {
    ...{ at, matches, missing, extra, different, undecided },
    duration_ms: comparison.durationMs,
    config_version: comparison.configVersion,
    source_rows: comparison.sourceRows,
    target_rows: comparison.targetRows,
    on_their_way: comparison.onTheirWay,
  }
}
