import { z } from 'zod'
import type { Role } from '../../model/access.js'
import { QUARANTINE_STATUSES, type QuarantinedRow } from '../../model/history.js'
import type { RowChoice, Settled, UnsettledRow } from '../../ports/quarantine-store.js'
import type { HeldRows } from '../services/quarantine.js'
import { quarantinedFor } from '../services/server-messages.js'
import { pageQuery, pageSchema } from './page.js'
import { toWire } from './to-wire.js'

const MOST_ROWS = 1_000
const rowId = () => z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a quarantined row')

export const listQuarantineQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(QUARANTINE_STATUSES).optional().describe('Only rows with this status.'),
})
export const quarantinedWire = z
  .object({
    id: z.string().describe('The id of the quarantined row.'),
    pipeline_id: z.string().describe('The pipeline that read it.'),
    pipeline_name: z.string().describe('Its name.'),
    run_id: z.string().describe('The run that read it.'),
    status: z.enum(QUARANTINE_STATUSES).describe('HELD until it is replayed or discarded.'),
    key: z.string().describe('The key of the row.'),
    row: z
      .record(z.string(), z.string().nullable())
      .nullable()
      .describe(
        'The row as read from the source, as text. Empty after the row is replayed or discarded. null: reading rows requires the role operator.',
      ),
    reason: z
      .string()
      .describe(
        'Why the target rejected it; for a viewer without the message, which quotes values. Removed after the row is replayed or discarded.',
      ),
    sqlstate: z.string().nullable().describe('The SQLSTATE of the rejection.'),
    check: z.string().nullable().describe('The data check that it failed. null: the target rejected it.'),
    refused_at: z.string().describe('When the target rejected it.'),
    settled_at: z.string().nullable().describe('When it was replayed or discarded.'),
  })
  .meta({ id: 'QuarantinedRow' })
export const quarantinePage = pageSchema(quarantinedWire)
export const replayWire = quarantinedWire.extend({
  replay_run_id: z
    .string()
    .nullable()
    .describe('The run that retries it; null: the run after the current one.'),
})

export function quarantinedToWire(row: QuarantinedRow, role: Role) {
  return toWire(quarantinedWire, quarantinedFor(role, row), { id: String(row.id) })
}

export const fleetQuarantineQuery = listQuarantineQuery.extend({
  pipeline_id: z.uuid().optional().describe('Only rows of this pipeline.'),
})

export const fleetQuarantinePage = quarantinePage.extend({
  total: z.number().describe('The total number of rows.'),
})

export function heldRowsToWire({ page, total }: HeldRows, role: Role): z.infer<typeof fleetQuarantinePage> {
  const items = page.items.map((row) => quarantinedToWire(row, role))
  return { items, next_cursor: page.nextCursor, total }
}

/** Strict: an ignored field would look like one that worked. */
export const settleBody = z
  .strictObject({
    row_ids: z.array(rowId()).min(1).max(MOST_ROWS).optional().describe('These rows.'),
    up_to: rowId().optional().describe('Instead of row_ids: all held rows up to and including this one.'),
    pipeline_id: z.uuid().optional().describe('With up_to: only rows of this pipeline.'),
  })
  .refine((body) => (body.row_ids === undefined) !== (body.up_to === undefined), {
    path: ['row_ids'],
    error: 'give either row_ids or up_to',
  })
  .refine((body) => body.pipeline_id === undefined || body.up_to !== undefined, {
    path: ['pipeline_id'],
    error: 'requires up_to',
  })

export function choiceOf({ row_ids, up_to, pipeline_id }: z.infer<typeof settleBody>): RowChoice {
  if (row_ids !== undefined) return { rowIds: row_ids.map(Number) }
  return { upTo: Number(up_to), pipelineId: pipeline_id ?? null }
}

const refusalWire = z.object({
  id: z.string().describe('The id of the quarantined row.'),
  pipeline_name: z.string().nullable().describe('The pipeline that read it.'),
  key: z.string().nullable().describe('The key of the row.'),
  code: z.string().describe('The code of the error.'),
  detail: z.string().describe('Why it was not changed.'),
})

const settledPipelineWire = z.object({
  pipeline_id: z.string().describe('The id of the pipeline.'),
  pipeline_name: z.string().describe('Its name.'),
  rows: z.number().describe('The number of its rows that changed.'),
  run_id: z
    .string()
    .nullable()
    .describe('The run that retries them; null: none is needed, or the run after the current one does.'),
})

export const settledWire = z
  .object({
    rows: z
      .number()
      .describe('Rows that have the requested status now, including those that already had it.'),
    refused: z.number().describe('Rows that do not have it.'),
    refusals: z.array(refusalWire).describe('Each of those, up to 1,000.'),
    pipelines: z.array(settledPipelineWire).describe('The pipelines of the changed rows.'),
  })
  .meta({ id: 'SettledRows' })

const DETAILS: Readonly<Record<UnsettledRow['code'], (refusal: UnsettledRow) => string>> = {
  QUARANTINE_NOT_FOUND: ({ id }) => `Quarantined row ${id} does not exist.`,
  QUARANTINE_SETTLED: ({ id }) => `Quarantined row ${id} has already been replayed or discarded.`,
  PIPELINE_DISABLED: ({ pipelineName }) => `Pipeline "${pipelineName}" is disabled. Enable it first.`,
}

export function settledToWire({ rows, refused, refusals, pipelines }: Settled): z.infer<typeof settledWire> {
  return {
    rows,
    refused,
    refusals: refusals.map((refusal) => ({
      id: String(refusal.id),
      pipeline_name: refusal.pipelineName,
      key: refusal.key,
      code: refusal.code,
      detail: DETAILS[refusal.code](refusal),
    })),
    pipelines: pipelines.map((each) => ({
      pipeline_id: each.id,
      pipeline_name: each.name,
      rows: each.rows,
      run_id: each.run?.id ?? null,
    })),
  }
}
