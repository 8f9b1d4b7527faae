import { z } from 'zod'
import { CHECK_STATUSES, CHECK_TYPES } from '../../model/check.js'
import { PIPELINE_STATUSES } from '../../model/status.js'
import { comparisonWire } from './overview.js'
import { pipelineWire } from './pipeline.js'
import { batchWire, runWire } from './run.js'

const common = {
  seq: z.number().describe('The number of the event, also its id: without gaps, in the order of commits.'),
  at: z.string().describe('When it happened.'),
  pipeline_id: z.string().describe('The id of the pipeline.'),
}
const name = z.string().describe('The name of the pipeline.')
const nextRunAt = z.string().nullable().describe('The next scheduled run. null: none.')
const noRun = z.null().describe('Always null: the event belongs to no run.')
const ofRun = z.string().describe('The id of the run.')

/** Written by triggers of the database: `etl.emit` in src/store/schema.sql. A test fires each of them. */
export const liveEventWire = z
  .discriminatedUnion('kind', [
    event('pipeline.created', 'PipelineCreated', { run_id: noRun, name }),
    event('pipeline.deleted', 'PipelineDeleted', { run_id: noRun, name }),
    event('pipeline.changed', 'PipelineChanged', {
      run_id: noRun,
      name,
      ...pipelineWire.pick({ enabled: true, config_version: true }).shape,
    }),
    event('pipeline.status', 'PipelineStatusChanged', {
      run_id: ofRun.nullable().describe('The id of its current run. null: none.'),
      name,
      from: z.enum(PIPELINE_STATUSES).describe('The status before.'),
      to: z.enum(PIPELINE_STATUSES).describe('The status now.'),
      next_run_at: nextRunAt,
    }),
    event('pipeline.scheduled', 'PipelineScheduled', { run_id: noRun, name, next_run_at: nextRunAt }),
    event('pipeline.compared', 'PipelineCompared', {
      run_id: noRun,
      deep: z.boolean().describe('Whether rows were compared, or only counts.'),
      ...comparisonWire.omit({ at: true }).shape,
    }),
    event('pipeline.freshness', 'PipelineFreshness', {
      run_id: noRun,
      breached: z.boolean().describe('Whether the data is older than its freshness allows.'),
      cause: z.string().nullable().describe('The code of the cause. null: it is not too old any more.'),
    }),
    event('check.failed', 'CheckFailed', {
      run_id: ofRun.nullable().describe('The id of the run. null: the check was requested without a run.'),
      check: z.string().describe('The name of the check.'),
      type: z.enum(CHECK_TYPES).describe('What it checks.'),
      status: z
        .enum(CHECK_STATUSES)
        .describe('warned, quarantined or failed, or error: it could not be evaluated.'),
      failed_rows: z.number().describe('Rows that failed so far.'),
      message: z.string().describe('What is wrong.'),
    }),
    event('quarantine.settled', 'QuarantineSettled', {
      run_id: noRun,
      rows: z.number().describe('Rows whose status changed.'),
      released: z.number().describe('Of these, the rows that were held before.'),
    }),
    event('run.status', 'RunStatusChanged', {
      run_id: ofRun,
      ...runWire.pick({
        status: true,
        attempt: true,
        cancel_requested: true,
        runner_id: true,
        batches: true,
        rows_read: true,
        rows_written: true,
        rows_deleted: true,
        held_back: true,
        error: true,
        error_code: true,
      }).shape,
    }),
    event('run.stalled', 'RunStalled', {
      run_id: ofRun,
      tags: z.array(z.string()).describe('The tags of the pipeline: no live runner takes them.'),
    }),
    event('run.batch', 'BatchCommitted', {
      run_id: ofRun,
      ...batchWire.omit({ first_key: true, last_key: true, finished_at: true }).shape,
    }),
  ])
  .meta({ id: 'LiveEvent' })

/** The event `gap` has no id and no kind: it is not part of the journal. */
export const eventGapWire = z
  .strictObject({
    after: z.number().describe('The number after which events were requested.'),
    from: z.number().describe('The number of the first event that follows.'),
  })
  .meta({ id: 'EventGap' })

/** Strict, so that the test finds a field that a trigger adds and the contract does not have. */
function event<Kind extends string, Facts extends z.ZodRawShape>(kind: Kind, id: string, facts: Facts) {
  return z
    .strictObject({ ...common, kind: z.literal(kind).describe('Also the name of the event.'), ...facts })
    .meta({ id: `${id}Event` })
}
