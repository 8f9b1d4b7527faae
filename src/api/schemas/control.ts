import { z } from 'zod'
import { PIPELINE_STATUSES } from '../../model/status.js'
import type { PipelineOverview } from '../services/pipelines.js'
import { runToWire, runWire } from './run.js'

/** Run and pause take nothing yet. Strict, because a field that is ignored looks like one that worked. */
export const noBody = z.strictObject({}).nullish()

export const runRequestedWire = z.object({
  id: z.string(),
  status: z.enum(PIPELINE_STATUSES),
  run_id: z.string(),
  url: z.string(),
})

export const pauseRequestedWire = z.object({
  id: z.string(),
  status: z.enum(PIPELINE_STATUSES),
  url: z.string(),
})

export const statusWire = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(PIPELINE_STATUSES),
  enabled: z.boolean(),
  current_run: runWire.nullable(),
  last_run: runWire.nullable(),
  lag: z.object({ seconds_since_success: z.number() }).nullable(),
})

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
