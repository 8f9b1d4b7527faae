import { z } from 'zod'
import {
  type Due,
  explainHeld,
  explainOrderConflict,
  explainOrderProblem,
  HELD_CODES,
  ORDER_PROBLEMS,
  type OrderGraph,
  type OrderPlan,
} from '../../model/order.js'
import { PIPELINE_STATUSES, RUN_STATUSES } from '../../model/status.js'
import { pipelineInput } from './pipeline-input.js'

export const dueWire = z
  .object({
    since: z
      .string()
      .describe('When the first change was committed that it has not read, or when it was requested.'),
    changed: z
      .array(z.string())
      .describe(
        'The pipelines that it follows and that have changed rows. Empty: it was requested together with others.',
      ),
    run_id: z
      .string()
      .nullable()
      .describe(
        'Its run, if it was requested together with others; null: the run is created when it starts.',
      ),
    waiting: z
      .object({
        code: z.enum(HELD_CODES).describe('The reason, for programs.'),
        upstream: z.string().nullable().describe('The pipeline that it waits for.'),
        detail: z.string().describe('The same as a sentence.'),
        hint: z.string().describe('What to do.'),
      })
      .nullable()
      .describe('Why it does not run yet. null: its run is about to be requested.'),
  })
  .meta({ id: 'Due' })

export function dueToWire({ since, changed, runId, held }: Due): z.infer<typeof dueWire> {
  return {
    since,
    changed: [...changed],
    run_id: runId,
    waiting: held === null ? null : { ...held, ...explainHeld(held) },
  }
}

export const groupWire = z
  .array(z.string())
  .nullable()
  .describe(
    'The names of the pipelines whose marts are published in one transaction with its own, itself included. null: it is published by itself.',
  )

const nodeWire = z.object({
  id: z.string().describe('The id of the pipeline.'),
  name: z.string().describe('Its name.'),
  status: z.enum(PIPELINE_STATUSES).describe('Its status.'),
  enabled: z.boolean().describe('Runners run only enabled pipelines.'),
  target: z.string().describe('What it fills.'),
  group: groupWire,
  due: dueWire.nullable().describe('Why a run is due although none was requested. null: no run is due.'),
  last_run: z
    .object({
      id: z.string().describe('The id of the run.'),
      status: z.enum(RUN_STATUSES).describe('How it ended.'),
      finished_at: z.string().nullable().describe('When it ended.'),
      rows_written: z.number().describe('Rows inserted or updated.'),
      rows_deleted: z.number().describe('Rows deleted from the mart.'),
    })
    .nullable()
    .describe('The last run that ended.'),
})

const edgeWire = z.object({
  from: z.string().describe('The id of the pipeline that runs first.'),
  to: z.string().describe('The id of the pipeline that follows it.'),
  kind: z
    .enum(['lineage', 'declared'])
    .describe(
      'lineage: it reads a table that the first one fills. declared: its field after lists the first one.',
    ),
  via: z.string().nullable().describe('The table; null: declared.'),
})

export const graphWire = z
  .object({
    nodes: z.array(nodeWire).describe('Every pipeline, by name.'),
    edges: z.array(edgeWire).describe('Which pipeline follows which.'),
    problems: z
      .array(
        z.object({
          pipeline_id: z.string().describe('The pipeline that does not follow, or is not in its group.'),
          code: z.enum(ORDER_PROBLEMS).describe('The reason, for programs.'),
          about: z.string().describe('The name or the table that this is about.'),
          detail: z.string().describe('The same as a sentence.'),
        }),
      )
      .describe('Pipelines that are not followed, or not published together, although they could be.'),
  })
  .meta({ id: 'OrderGraph' })

export function graphToWire({ nodes, edges, problems }: OrderGraph): z.infer<typeof graphWire> {
  return {
    nodes: nodes.map(({ id, name, status, enabled, target, group, due, lastRun }) => ({
      id,
      name,
      status,
      enabled,
      target,
      group: group === null ? null : [...group],
      due: due === null ? null : dueToWire(due),
      last_run:
        lastRun === null
          ? null
          : {
              id: lastRun.id,
              status: lastRun.status,
              finished_at: lastRun.finishedAt,
              rows_written: lastRun.rowsWritten,
              rows_deleted: lastRun.rowsDeleted,
            },
    })),
    edges: edges.map(({ from, to, kind, via }) => ({ from, to, kind, via })),
    problems: problems.map((problem) => ({
      pipeline_id: problem.pipelineId,
      code: problem.code,
      about: problem.about,
      detail: explainOrderProblem(problem),
    })),
  }
}

/** The service reads each pipeline field by field, so that all mistakes are reported together. */
export const changesBody = z.strictObject({
  pipelines: z.array(z.record(z.string(), z.unknown())).max(1000),
  deleted: z.array(z.string()).max(10_000).default([]),
})

export const changesInput = z
  .strictObject({
    pipelines: z.array(pipelineInput).max(1000).describe('Pipelines to create or to replace, by name.'),
    deleted: z.array(z.string()).max(10_000).default([]).describe('The names of pipelines to delete.'),
  })
  .meta({ id: 'OrderChanges' })

export const orderPlanWire = z
  .object({
    conflicts: z
      .array(
        z.object({
          name: z.string().describe('The pipeline that would be rejected.'),
          code: z.enum(['ORDER_CYCLE', 'AFTER_UNKNOWN']).describe('The code of that error.'),
          path: z
            .array(z.string())
            .describe(
              'ORDER_CYCLE: the names from the pipeline back to it. AFTER_UNKNOWN: the name that does not exist.',
            ),
          detail: z.string().describe('The same as a sentence.'),
        }),
      )
      .describe('Why the changes would be rejected. Empty: the order allows them.'),
    order: z
      .array(z.string())
      .describe(
        'The names of these pipelines, each after those that it follows: the order in which to save them.',
      ),
  })
  .meta({ id: 'OrderConflicts' })

export function orderPlanToWire({ conflicts, order }: OrderPlan): z.infer<typeof orderPlanWire> {
  return {
    order: [...order],
    conflicts: conflicts.map((conflict) => ({
      ...conflict,
      path: [...conflict.path],
      detail: explainOrderConflict(conflict),
    })),
  }
}
