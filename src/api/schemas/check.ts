import { z } from 'zod'
import {
  CHECK_STATUSES,
  CHECK_TYPES,
  type CheckState,
  checkSchema,
  ON_FAILURE,
  OVER,
  overOf,
} from '../../model/check.js'
import { pageQuery, pageSchema } from './page.js'

const STATUSES = [...CHECK_STATUSES, 'unknown'] as const
const status = z
  .enum(STATUSES)
  .describe(
    'passed; warned, quarantined or failed according to on_failure; error: it could not be evaluated; unknown: no result yet.',
  )
const failedRows = z.number().describe('Rows that failed. 0 for checks about the mart as a whole.')
const observed = z
  .number()
  .nullable()
  .describe(
    'What was compared with the limits: a number of rows, or an age in seconds. null: rows one by one.',
  )
const ofRun = z.string().nullable().describe('The run. null: requested without a run.')
const checkedAt = z.string().nullable().describe('When it was evaluated. null: not yet.')

export const checkStateWire = z
  .object({
    pipeline_id: z.string().describe('The id of the pipeline.'),
    pipeline_name: z.string().describe('The name of the pipeline.'),
    name: z.string().describe('The name of the check.'),
    type: z.enum(CHECK_TYPES).describe('What it checks.'),
    on_failure: z.enum(ON_FAILURE).describe('What happens if it fails.'),
    over: z.enum(OVER).describe('batch: rows before they are written. mart: all rows of the mart.'),
    definition: checkSchema.describe('The check as it is configured now.'),
    status,
    failed_rows: failedRows,
    sample: z.array(z.string()).describe('Keys of rows that failed, at most five.'),
    observed,
    message: z.string().describe('The problem. Empty: none.'),
    run_id: ofRun,
    checked_at: checkedAt,
    duration_ms: z.number().nullable().describe('How long it took, over all batches. null: no result yet.'),
    history: z
      .array(
        z.object({
          run_id: ofRun,
          status,
          failed_rows: failedRows,
          observed,
          checked_at: z.string().describe('When it was evaluated.'),
        }),
      )
      .describe('The last 20 results, newest first.'),
  })
  .meta({ id: 'CheckState' })

export const checkList = z.object({ items: z.array(checkStateWire).describe('The checks in their order.') })
export const checkPage = pageSchema(checkStateWire)
export const listChecksQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(STATUSES).optional().describe('Only checks whose last result has this status.'),
  pipeline_id: z.uuid().optional().describe('Only checks of this pipeline.'),
})

export function checkToWire({
  pipelineId,
  pipelineName,
  check,
  results,
}: CheckState): z.infer<typeof checkStateWire> {
  const [last] = results
  return {
    pipeline_id: pipelineId,
    pipeline_name: pipelineName,
    name: check.name,
    type: check.type,
    on_failure: check.on_failure,
    over: last?.over ?? overOf(check),
    definition: check,
    status: last?.status ?? 'unknown',
    failed_rows: last?.failedRows ?? 0,
    sample: [...(last?.sample ?? [])],
    observed: last?.observed ?? null,
    message: last?.message ?? '',
    run_id: last?.runId ?? null,
    checked_at: last?.checkedAt ?? null,
    duration_ms: last?.durationMs ?? null,
    history: results.map((result) => ({
      run_id: result.runId,
      status: result.status,
      failed_rows: result.failedRows,
      observed: result.observed,
      checked_at: result.checkedAt,
    })),
  }
}
