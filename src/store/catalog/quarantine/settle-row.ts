import type { Author } from '../../../model/access.js'
import { VitrinaError } from '../../../model/errors.js'
import type { QuarantinedRow } from '../../../model/history.js'
import type { Queryable } from '../../database.js'
import { writeAudit } from '../audit.js'
import { QUARANTINE_COLUMNS, type QuarantineRow, toQuarantined } from './rows.js'

interface RowSettlement {
  readonly pipelineId: string
  readonly rowId: number
  readonly author: Author
  readonly status: 'REPLAY_REQUESTED' | 'DISCARDED'
}

/** Null: the row does not exist. Throws QUARANTINE_SETTLED. */
export async function settleRow(
  session: Queryable,
  { pipelineId, rowId, author, status }: RowSettlement,
): Promise<QuarantinedRow | null> {
  const [before] = await session.query<QuarantineRow>(
    `SELECT ${QUARANTINE_COLUMNS} FROM etl.etl_quarantine q WHERE q.id = $1 AND q.pipeline_id = $2 FOR UPDATE`,
    [rowId, pipelineId],
  )
  if (before === undefined) return null
  if (before.status === status) return toQuarantined(before)
  if (before.status === 'REPLAYED' || before.status === 'DISCARDED') throw alreadySettled(before)
  const [after] = await session.query<QuarantineRow>(
    `UPDATE etl.etl_quarantine q SET status = $2, settled_at = CASE $2 WHEN 'DISCARDED' THEN clock_timestamp() END
      WHERE q.id = $1 RETURNING ${QUARANTINE_COLUMNS}`,
    [rowId, status],
  )
  const action = status === 'DISCARDED' ? 'quarantine.discard' : 'quarantine.replay'
  const diff = { pipeline_id: pipelineId, row_key: before.row_key }
  await writeAudit(session, author, { action, kind: 'quarantine', id: String(rowId), name: null, diff })
  return toQuarantined(after!)
}

function alreadySettled({ id, status }: QuarantineRow): VitrinaError {
  return new VitrinaError(
    'QUARANTINE_SETTLED',
    `Quarantined row ${id} is already ${status}.`,
    'Only rows with status HELD can be replayed or discarded.',
  )
}
