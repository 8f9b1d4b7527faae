import type { QuarantineStatus } from '../../../model/history.js'
import type { Pipeline } from '../../../model/pipeline.js'
import { isHeld, isStartable } from '../../../model/status.js'
import type {
  RowChoice,
  Settled,
  SettledPipeline,
  Settlement,
  UnsettledRow,
} from '../../../ports/quarantine-store.js'
import type { Queryable } from '../../database.js'
import { signTransaction, writeAudit } from '../audit.js'
import { activeOrNew } from '../control.repository.js'
import { findPipeline, lockPipeline } from '../find.js'

const MOST_UNSETTLED = 1_000

/** The selected rows, as a condition on `q` with the parameters $1 to $3. */
const CHOSEN = `($1::bigint[] IS NULL OR q.id = ANY ($1)) AND ($2::bigint IS NULL OR (q.id <= $2 AND q.status = 'HELD'))
  AND ($3::uuid IS NULL OR q.pipeline_id = $3)`

function chosen(choice: RowChoice): unknown[] {
  return 'rowIds' in choice ? [choice.rowIds, null, null] : [null, choice.upTo, choice.pipelineId]
}

/** The selected rows of all pipelines, with an entry in the audit for each pipeline. */
export async function settleRows(session: Queryable, settlement: Settlement): Promise<Settled> {
  await signTransaction(session, settlement.author)
  const pipelines = await pipelinesOf(session, settlement)
  const able = pipelines.filter((pipeline) => isAble(pipeline, settlement))
  const moved = await move(session, settlement, able)
  const refusals = await unsettledRowsOf(session, settlement, able)
  const done: SettledPipeline[] = []
  for (const pipeline of able) {
    const rows = moved.get(pipeline.id) ?? 0
    if (rows > 0) done.push(await settled(session, settlement, { pipeline, rows }))
  }
  const asked = 'rowIds' in settlement.choice ? new Set(settlement.choice.rowIds).size : null
  const rows = [...moved.values()].reduce((sum, each) => sum + each, 0)
  return {
    rows: asked === null ? rows : asked - refusals.count,
    refused: refusals.count,
    refusals: refusals.first,
    pipelines: done,
  }
}

/**
 * Locked in the order of their ids if runs are to be requested, so that two concurrent requests wait instead of
 * deadlocking.
 */
async function pipelinesOf(session: Queryable, { choice, as }: Settlement): Promise<Pipeline[]> {
  const ids = await session.query<{ id: string }>(
    `SELECT DISTINCT q.pipeline_id AS id FROM etl.etl_quarantine q WHERE ${CHOSEN} ORDER BY 1`,
    chosen(choice),
  )
  const pipelines: Pipeline[] = []
  for (const { id } of ids) {
    const pipeline = await (as === 'DISCARDED' ? findPipeline : lockPipeline)(session, id)
    if (pipeline !== null) pipelines.push(pipeline)
  }
  return pipelines
}

/** Rows that no run would retry stay held. */
function isAble({ enabled, status }: Pipeline, { as }: Settlement): boolean {
  return as === 'DISCARDED' || enabled || !isStartable(status)
}

async function move(
  session: Queryable,
  { choice, as }: Settlement,
  pipelines: readonly Pipeline[],
): Promise<Map<string, number>> {
  const from: QuarantineStatus[] = as === 'DISCARDED' ? ['HELD', 'REPLAY_REQUESTED'] : ['HELD']
  const rows = await session.query<{ id: string; count: number }>(
    `WITH moved AS (
       UPDATE etl.etl_quarantine q SET status = $4, settled_at = CASE $4 WHEN 'DISCARDED' THEN clock_timestamp() END
        WHERE ${CHOSEN} AND q.pipeline_id = ANY ($5::uuid[]) AND q.status = ANY ($6) RETURNING q.pipeline_id)
     SELECT pipeline_id AS id, count(*) FROM moved GROUP BY pipeline_id`,
    [...chosen(choice), as, pipelines.map(({ id }) => id), from],
  )
  return new Map(rows.map(({ id, count }) => [id, count]))
}

interface LeftRow {
  readonly id: number
  readonly name: string | null
  readonly key: string | null
  readonly status: QuarantineStatus | null
  readonly able: boolean
}

/** Of the selected rows, those that do not have the requested status. */
async function unsettledRowsOf(
  session: Queryable,
  { choice, as }: Settlement,
  pipelines: readonly Pipeline[],
): Promise<{ count: number; first: UnsettledRow[] }> {
  const able = pipelines.map(({ id }) => id)
  const left = await session.query<LeftRow>(
    'rowIds' in choice
      ? `SELECT asked.id, p.name, q.row_key AS key, q.status, coalesce(q.pipeline_id = ANY ($3::uuid[]), true) AS able
           FROM (SELECT DISTINCT unnest($1::bigint[]) AS id) asked LEFT JOIN etl.etl_quarantine q USING (id)
           LEFT JOIN etl.etl_pipelines p ON p.id = q.pipeline_id
          WHERE q.status IS DISTINCT FROM $2 ORDER BY asked.id`
      : `SELECT q.id, p.name, q.row_key AS key, q.status, false AS able
           FROM etl.etl_quarantine q JOIN etl.etl_pipelines p ON p.id = q.pipeline_id
          WHERE q.id <= $1 AND q.status = 'HELD' AND q.status <> $2 AND q.pipeline_id <> ALL ($3::uuid[])
            AND ($4::uuid IS NULL OR q.pipeline_id = $4) ORDER BY q.id`,
    'rowIds' in choice ? [choice.rowIds, as, able] : [choice.upTo, as, able, choice.pipelineId],
  )
  return { count: left.length, first: left.slice(0, MOST_UNSETTLED).map(toUnsettledRow) }
}

function toUnsettledRow({ id, name, key, status, able }: LeftRow): UnsettledRow {
  const code =
    status === null ? 'QUARANTINE_NOT_FOUND' : able ? 'QUARANTINE_SETTLED' : ('PIPELINE_DISABLED' as const)
  return { id, pipelineName: name, key, code }
}

async function settled(
  session: Queryable,
  { as, author }: Settlement,
  { pipeline, rows }: { readonly pipeline: Pipeline; readonly rows: number },
): Promise<SettledPipeline> {
  const { id, name, status } = pipeline
  const action = as === 'DISCARDED' ? 'quarantine.discard' : 'quarantine.replay'
  await writeAudit(session, author, { action, kind: 'pipeline', id, name, diff: { rows } })
  const needsRun = as === 'REPLAY_REQUESTED' && !isHeld(status)
  const run = needsRun ? await activeOrNew(session, pipeline, { pipelineId: id, author }) : null
  return { id, name, rows, run }
}
