import { z } from 'zod'
import { WAVES } from '../../model/order.js'
import { readParentRun } from '../../model/parent-run.js'
import { PIPELINE_STATUSES } from '../../model/status.js'
import { line, text } from '../../model/text.js'
import type { PipelineOverview } from '../services/pipelines.js'
import { RUN_REQUESTED_EXAMPLE } from './examples.js'
import { dueToWire, dueWire, groupWire } from './order.js'
import { flag } from './page.js'
import { runToWire, runWire } from './run.js'
import { waitTime } from './wait-time.js'

export const cancelQuery = z.strictObject({
  force: flag()
    .optional()
    .describe('Stop at once: the current batch is rolled back and the run ends. Earlier batches are kept.'),
})

/** Strict: an ignored field would look like one that worked. */
export const noBody = z.strictObject({}).nullish()

export const runBody = z
  .strictObject({
    external_ref: line(500)
      .optional()
      .describe(
        'The id of this run in an external orchestrator; while the run is active, a request with the same value returns it.',
      )
      .meta({ example: 'airflow:film_dim:2024-05-01' }),
    openlineage_parent: line(1000)
      .refine((text) => readParentRun(text) !== null, 'must be namespace/job/run id, the id a UUID')
      .optional()
      .describe('The run of an orchestrator that requests this one, for OpenLineage: namespace/job/run id.')
      .meta({ example: 'default/cinema.film_dim/01939f3a-8f2c-7a1e-9d57-2b1c7f0e4a11' }),
  })
  .nullish()

export const runQuery = z.strictObject({
  wait: waitTime.describe(
    'Responds when the run has ended or this time is up (1s to 60s), and includes the run.',
  ),
  with: z
    .enum(WAVES)
    .optional()
    .describe(
      'Request a wave of runs: also of the pipelines that this one follows (upstream), of those that follow it (downstream), or both (all). Each run starts after those of the pipelines that it follows.',
    ),
})

/** Absent: a request that is not repeated. */
export const runHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 visible ASCII characters')
    .optional()
    .describe('The same key within 24 hours returns the same run.'),
})

export const resetBody = z
  .strictObject({
    last_processed_key: text(1, 1000)
      .nullish()
      .describe('Continue after this incremental_key. Absent: from the start.'),
    last_processed_id: text(1, 1000)
      .nullish()
      .describe('Among rows with an equal key, continue after this incremental_id_key.'),
  })
  .refine((body) => (body.last_processed_id ?? null) === null || (body.last_processed_key ?? null) !== null, {
    path: ['last_processed_id'],
    error: 'requires last_processed_key',
  })
  .nullish()

export const restoreBody = z
  .strictObject({
    reset_checkpoint: z.boolean().optional().describe('Required if the change invalidates the checkpoint.'),
  })
  .nullish()

const id = z.string().describe('The id of the pipeline.')
const status = z.enum(PIPELINE_STATUSES).describe('The status of the pipeline.')

export const runRequestedWire = z
  .object({
    id,
    status,
    run_id: z.string().describe('The id of the run.'),
    url: z.string().describe('The URL of the run.'),
    run: runWire.optional().describe('The run itself, if the request waited.'),
    runs: z
      .array(runWire)
      .optional()
      .describe('With the parameter with: every run of the wave, in the order in which they may start.'),
  })
  .meta({ id: 'RunRequested', examples: [RUN_REQUESTED_EXAMPLE] })

export const pauseRequestedWire = z.object({
  id,
  status,
  url: z.string().describe('The URL of the status of the pipeline.'),
})

export const reloadWire = z.object({
  config_version: z.number().describe('The version that a running pipeline applies at its next batch.'),
})

export const statusWire = z
  .object({
    id,
    name: z.string().describe('The name of the pipeline.'),
    status,
    enabled: z.boolean().describe('Runners run only enabled pipelines.'),
    current_run: runWire.nullable().describe('The run that is requested or in progress.'),
    last_run: runWire.nullable().describe('The last run that ended.'),
    due: dueWire.nullable().describe('Why a run is due although none was requested. null: no run is due.'),
    group: groupWire,
    lag: z
      .object({ seconds_since_success: z.number().describe('Time since the last success.') })
      .nullable()
      .describe('How far the mart may be behind; null before the first success.'),
  })
  .meta({ id: 'PipelineStatus' })

export function statusToWire({
  pipeline,
  current,
  last,
  due,
  group,
  secondsSinceSuccess,
}: PipelineOverview): z.infer<typeof statusWire> {
  return {
    id: pipeline.id,
    name: pipeline.name,
    status: pipeline.status,
    enabled: pipeline.enabled,
    current_run: current === null ? null : runToWire(current),
    last_run: last === null ? null : runToWire(last),
    due: due === null ? null : dueToWire(due),
    group: group === null ? null : [...group],
    lag: secondsSinceSuccess === null ? null : { seconds_since_success: secondsSinceSuccess },
  }
}
