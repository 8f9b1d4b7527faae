import { randomBytes } from 'node:crypto'
import { VitrinaError } from '../model/errors.js'
import { kept } from '../postgres/kept-statements.js'
import type { Session } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'
import { HEAD_COLUMNS, type Head, readHead } from './head.js'
import { formatLsn, type Lsn } from './lsn.js'
import { relationName } from './relation-name.js'
import { WANTED_CHANNEL } from './signals.js'

/** A table that a pipeline reads, with the columns that its key queries use. */
export interface NeededTable extends TableName {
  readonly columns: readonly string[]
}

/** Where a pipeline is in the log. Kept in its state in the target, in the transaction of the rows. */
export interface LogPosition {
  readonly generation: string
  readonly endLsn: Lsn
  readonly fingerprint: string
}

/** The head of a source database; created on first use. */
export async function ensureHead(main: Session, connection: string): Promise<Head> {
  const known = await findHead(main, connection)
  if (known !== null) return known
  const name = `vitrina_${connection
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .slice(0, 40)}_${randomBytes(4).toString('hex')}`
  await main.rows(
    `INSERT INTO etl.etl_change_heads (connection, slot, publication) VALUES ($1, $2, $2) ON CONFLICT (connection) DO NOTHING`,
    [connection, name],
  )
  return (await findHead(main, connection))!
}

/** The head of a source database, and whether the pipeline is registered with these tables; null: there is no head. */
export async function findRegistered(
  main: Session,
  { connection, pipelineId }: { readonly connection: string; readonly pipelineId: string },
  tables: readonly NeededTable[],
): Promise<{ readonly head: Head; readonly isRegistered: boolean } | null> {
  const [row] = await main.rows(REGISTERED, [connection, pipelineId, relationsOf(tables)])
  return row === undefined ? null : { head: readHead(row), isRegistered: row.registered === 'true' }
}

const REGISTERED = kept(
  `SELECT ${HEAD_COLUMNS}, EXISTS (SELECT FROM etl.etl_change_positions p
                                    WHERE p.head = h.id AND p.pipeline_id = $2 AND p.relations = $3)::text AS registered
     FROM etl.etl_change_heads h WHERE connection = $1`,
)

async function findHead(main: Session, connection: string): Promise<Head | null> {
  const [row] = await main.rows(`SELECT ${HEAD_COLUMNS} FROM etl.etl_change_heads WHERE connection = $1`, [
    connection,
  ])
  return row === undefined ? null : readHead(row)
}

/** By the id, which does not change. */
export async function headById(main: Session, id: number): Promise<Head> {
  const [row] = await main.rows(`SELECT ${HEAD_COLUMNS} FROM etl.etl_change_heads WHERE id = $1`, [id])
  if (row === undefined) throw changeLogRemoved()
  return readHead(row)
}

export function changeLogRemoved(): VitrinaError {
  return new VitrinaError(
    'CAPTURE_BEHIND',
    'The change log of the source was removed.',
    'Run the pipeline again: it registers and starts over.',
  )
}

/**
 * Before a pipeline reads for the first time: from here on the log is not trimmed below its position. Otherwise an entry
 * that its snapshot does not see could be removed by the progress of others. Safe to repeat with every run.
 */
export async function registerPipeline(
  main: Session,
  { head, pipelineId }: { readonly head: Head; readonly pipelineId: string },
  tables: readonly NeededTable[],
): Promise<void> {
  const relations = relationsOf(tables)
  const known = await main.rows(
    'SELECT 1 AS found FROM etl.etl_change_positions WHERE head = $1 AND pipeline_id = $2 AND relations = $3',
    [head.id, pipelineId, relations],
  )
  if (known.length > 0) return
  const rows = await main.rows(
    `INSERT INTO etl.etl_change_positions AS p (head, pipeline_id, relations) VALUES ($1, $2, $3)
     ON CONFLICT (head, pipeline_id) DO UPDATE SET relations = excluded.relations, updated_at = now()
      WHERE p.relations <> excluded.relations RETURNING 1`,
    [head.id, pipelineId, relations],
  )
  if (rows.length > 0) await main.rows('SELECT pg_notify($1, $2)', [WANTED_CHANNEL, `${head.id}`])
}

function relationsOf(tables: readonly NeededTable[]): string {
  return JSON.stringify(
    Object.fromEntries(tables.map((table) => [relationName(table), [...table.columns].sort()])),
  )
}

/** After the position was committed in the target. It may lag or be lost: the log is then kept for longer. */
export async function movePosition(
  main: Session,
  { head, pipelineId }: { readonly head: Head; readonly pipelineId: string },
  { generation, endLsn }: Pick<LogPosition, 'generation' | 'endLsn'>,
): Promise<void> {
  await main.rows(MOVE_POSITION, [head.id, pipelineId, generation, formatLsn(endLsn)])
}

const MOVE_POSITION = kept(
  `UPDATE etl.etl_change_positions SET generation = $3, end_lsn = $4, updated_at = now()
    WHERE head = $1 AND pipeline_id = $2`,
)

/** The pipeline no longer reads changes. The captor removes the slot after the last one; deleting a pipeline does the same. */
export async function unregisterPipeline(main: Session, pipelineId: string): Promise<void> {
  const rows = await main.rows(
    'DELETE FROM etl.etl_change_positions WHERE pipeline_id = $1 RETURNING head::text AS head',
    [pipelineId],
  )
  for (const { head } of rows) await main.rows('SELECT pg_notify($1, $2)', [WANTED_CHANNEL, head])
}
