import { z } from 'zod'
import { PIPELINE_STATUSES } from '../../model/status.js'
import type { PipelineOverview } from '../services/pipelines.js'
import { RUN_REQUESTED_EXAMPLE } from './examples.js'
import { flag } from './page.js'
import { runToWire, runWire } from './run.js'
import { line, text } from './text.js'
import { waitTime } from './wait-time.js'

export const cancelQuery = z.strictObject({
  force: flag()
    .optional()
    .describe(
      'Does not wait for the batch: it is rolled back, and the run ends at once. Batches before it stay.',
    ),
})

/** Strict, because a field that is ignored looks like one that worked. */
export const noBody = z.strictObject({}).nullish()

export const runBody = z
  .strictObject({
    external_ref: line(500)
      .optional()
      .describe('How an orchestrator calls this run: while it is active, it is found again by it.')
      .meta({ example: 'airflow:film_dim:2024-05-01' }),
  })
  .nullish()

export const runQuery = z.strictObject({
  wait: waitTime.describe('Answers when the run has ended or this time is up (1s to 60s), and with the run.'),
})

/** Absent: one that is not repeated. */
export const runHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 visible ASCII characters')
    .optional()
    .describe('The same key within 24 hours gives the same run.'),
})

export const resetBody = z
  .strictObject({
    last_processed_key: text(1, 1000)
      .nullish()
      .describe('Read on beyond this incremental_key. Absent: from the start.'),
    last_processed_id: text(1, 1000).nullish().describe('Beyond this incremental_id_key among equal keys.'),
  })
  .refine((body) => (body.last_processed_id ?? null) === null || (body.last_processed_key ?? null) !== null, {
    path: ['last_processed_id'],
    error: 'needs last_processed_key too',
  })
  .nullish()

export const restoreBody = z
  .strictObject({
    reset_checkpoint: z
      .boolean()
      .optional()
      .describe('Needed when the change makes the checkpoint meaningless.'),
  })
  .nullish()

const id = z.string().describe('The id of the pipeline.')
const status = z.enum(PIPELINE_STATUSES).describe('The status of the pipeline.')

export const runRequestedWire = z
  .object({
    id,
    status,
    run_id: z.string().describe('The id of the run, known at once.'),
    url: z.string().describe('Where the run can be read from now on.'),
    run: runWire.optional().describe('The run itself, for those who waited.'),
  })
  .meta({ id: 'RunRequested', examples: [RUN_REQUESTED_EXAMPLE] })

export const pauseRequestedWire = z.object({
  id,
  status,
  url: z.string().describe('Where the status of the pipeline can be read.'),
})

export const reloadWire = z.object({
  config_version: z.number().describe('The version that a running pipeline takes up at its next batch.'),
})

export const statusWire = z
  .object({
    id,
    name: z.string().describe('The name of the pipeline.'),
    status,
    enabled: z.boolean().describe('Runners work on enabled pipelines only.'),
    current_run: runWire.nullable().describe('The run that is requested or under way.'),
    last_run: runWire.nullable().describe('The last run that ended.'),
    lag: z
      .object({ seconds_since_success: z.number().describe('Age of the last success.') })
      .nullable()
      .describe('How far behind the mart may be; null before the first success.'),
  })
  .meta({ id: 'PipelineStatus' })

export function statusToWire({
  pipeline,
  current,
  last,
  secondsSinceSuccess,
}: PipelineOverview): z.infer<typeof statusWire> {
  return {
    id: pipeline.id,
    name: pipeline.name,
    status: pipeline.status,
    enabled: pipeline.enabled,
    current_run: current === null ? null : runToWire(current),
    last_run: last === null ? null : runToWire(last),
    lag: secondsSinceSuccess === null ? null : { seconds_since_success: secondsSinceSuccess },
  }
}
