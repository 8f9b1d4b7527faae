import { z } from 'zod'
import { PIPELINE_STATUSES, RUN_STATUSES } from '../../model/status.js'
import type { PipelineLines } from '../services/pipelines.js'
import { pageQueryUpTo, pageSchema } from './page.js'
import { listPipelinesQuery } from './pipeline.js'
import { heldBackWire } from './run.js'
import { toWire } from './to-wire.js'

export const overviewQuery = listPipelinesQuery.extend({
  ...pageQueryUpTo(1000),
  target: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only targets with this prefix, such as `es:` or `analytics.`.'),
  q: listPipelinesQuery.shape.q.describe('Part of the name or of the target, case-insensitive.'),
})

const count = (what: string) => z.number().describe(what)
const when = (what: string) => z.string().nullable().describe(what)
const runStatus = z.enum(RUN_STATUSES).describe('The status of the run.')
const duration = z.number().nullable().describe('The duration.')
const error = {
  error_code: when('The code of its last error.'),
  error: when('What went wrong; for a run in progress, in an earlier attempt.'),
}

const activeRunWire = z.object({
  id: z.string().describe('The id of the run.'),
  status: runStatus,
  attempt: count('Attempts so far.'),
  cancel_requested: z.boolean().describe('It stops after its current batch.'),
  requested_at: z.string().describe('When it was requested.'),
  started_at: when('When a runner first claimed it.'),
  batches: count('Batches committed.'),
  rows_read: count('Rows read from the source.'),
  rows_written: count('Rows inserted or updated.'),
  ...error,
})

const endedRunWire = z.object({
  id: z.string().describe('The id of the run.'),
  status: runStatus,
  finished_at: z.string().describe('When it ended.'),
  duration_ms: duration,
  rows_read: count('Rows read from the source.'),
  rows_written: count('Rows inserted or updated.'),
  rows_deleted: count('Rows deleted from the mart.'),
  held_back: heldBackWire.nullable().describe('The reason why its checkpoint did not advance.'),
  ...error,
  error_hint: when('How to fix it.'),
})

export const comparisonWire = z
  .object({
    at: z.string().describe('When it ended.'),
    duration_ms: count('How long it took.'),
    config_version: count('The configuration version that was compared.'),
    matches: z.boolean().describe('Whether there were no differences.'),
    source_rows: count('Rows returned by the query.'),
    target_rows: count('Rows in the mart.'),
    missing: count('Rows in the source, not in the mart; 0 when only counts were compared.'),
    extra: count('Rows in the mart, not in the source; 0 when only counts were compared.'),
    different: count('Rows in both with different values; 0 when only counts were compared.'),
    on_their_way: count('Rows that the pipeline had not reached yet; not drift.'),
    undecided: count('How many of those might have been drift.'),
  })
  .meta({ id: 'Comparison' })

const recentRunWire = z.object({
  status: runStatus,
  duration_ms: duration,
  rows_read: count('Rows read from the source.'),
  rows_written: count('Rows inserted or updated.'),
})

const lineWire = z
  .object({
    id: z.string().describe('The id of the pipeline.'),
    name: z.string().describe('Its name.'),
    description: z.string().describe('What it is for.'),
    tags: z.array(z.string()).describe('Its tags; the first one is its queue.'),
    type: z.enum(['SQL', 'PYTHON']).describe('SQL: a query only. PYTHON: with registered transforms.'),
    target_table: z.string().describe('What it writes to.'),
    target_connection: z.string().nullable().describe('The database of the target; null: the main one.'),
    mode: z.enum(['full', 'incremental']).describe('How it reads.'),
    enabled: z.boolean().describe('Runners run only enabled pipelines.'),
    status: z.enum(PIPELINE_STATUSES).describe('The current status.'),
    config_version: count('The version of its configuration.'),
    schedule_interval: when('Its schedule.'),
    schedule_timezone: z.string().describe('The time zone of the schedule.'),
    schedule_period_ms: z
      .number()
      .nullable()
      .describe('The time between two scheduled runs: older data is late.'),
    next_run_at: when('When it runs next by its schedule.'),
    freshness_due_at: when('When a run is requested to keep the data fresh.'),
    last_success_at: when('When a run last succeeded.'),
    data_as_of: when('The mart contains everything that was committed in the source before this time.'),
    budget_seconds: z.number().nullable().describe('How old its data may become; null: not limited.'),
    quarantined: count('Quarantined rows that are not replayed or discarded yet; counted up to 1,000.'),
    compared: z
      .object({
        counts: comparisonWire.nullable().describe('The last comparison of counts; null: never compared.'),
        rows: comparisonWire.nullable().describe('The last comparison of every row; null: never compared.'),
      })
      .describe('The latest result of GET /pipelines/{id}/reconcile by any user.'),
    current_run: activeRunWire.nullable().describe('The run that is requested or in progress.'),
    last_run: endedRunWire.nullable().describe('The last run that ended.'),
    recent: z.array(recentRunWire).describe('The last 20 runs that ended, newest first.'),
  })
  .meta({ id: 'PipelineLine' })

const summaryWire = z
  .object({
    now: z.string().describe('The clock of the database.'),
    pipelines: count('All pipelines.'),
    queued: count('Pipelines that wait for a runner.'),
    running: count('Pipelines that are running.'),
    paused: count('Paused pipelines.'),
    failed: count('Pipelines whose last run failed.'),
    disabled: count('Disabled pipelines.'),
    runners_alive: count('Runners seen within the last 15 s.'),
    runners_known: count('Runners that have not stopped normally.'),
  })
  .meta({ id: 'FleetSummary' })

export const overviewWire = pageSchema(lineWire).extend({
  summary: summaryWire.describe('The totals of all pipelines, regardless of the filter.'),
})

export function overviewToWire({ page, fleet }: PipelineLines): z.infer<typeof overviewWire> {
  const { runnersAlive, runnersKnown, ...counts } = fleet
  return {
    items: page.items.map(lineToWire),
    next_cursor: page.nextCursor,
    summary: { ...counts, runners_alive: runnersAlive, runners_known: runnersKnown },
  }
}

function lineToWire(line: PipelineLines['page']['items'][number]) {
  const { counts, rows } = line.compared
  return toWire(lineWire, line, {
    schedule_period_ms: line.periodMs,
    compared: {
      counts: counts === null ? null : toWire(comparisonWire, counts),
      rows: rows === null ? null : toWire(comparisonWire, rows),
    },
    current_run: line.current === null ? null : toWire(activeRunWire, line.current),
    last_run: line.last === null ? null : toWire(endedRunWire, line.last),
    recent: line.recent.map((run) => toWire(recentRunWire, run)),
  })
}
