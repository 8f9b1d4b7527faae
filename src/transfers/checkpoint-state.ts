import type { Position } from '../checkpoints/checkpoint.js'
import type { Session } from '../postgres/session.js'

/** Where the pipeline is after a batch. */
export interface CheckpointState {
  readonly key: string | null
  readonly id: string | null
  readonly position: Omit<Position, 'run'>
}

export function withoutPass(state: CheckpointState): CheckpointState {
  const { pass: _pass, ...position } = state.position
  return { ...state, position }
}

/** The state after the last batch of a complete pass, with the transaction id of its rows if its start is known. */
export async function withTransactionId(
  session: Session,
  state: CheckpointState,
  isOnly: boolean,
): Promise<CheckpointState> {
  const { read, ...position } = state.position
  if (read === undefined) return state
  const wrote = { number: await transactionIdOfRows(session), isOnly }
  return { ...state, position: { ...position, read: { ...read, wrote } } }
}

/**
 * The transaction id of the rows just written, as their system column xmin shows it. After a savepoint that is not the
 * id of the transaction, so a row is written to read it from.
 */
async function transactionIdOfRows(session: Session): Promise<string> {
  // A group has several marts in one transaction.
  await session.run(
    'DROP TABLE IF EXISTS pg_temp.vitrina_number; CREATE TEMP TABLE vitrina_number ON COMMIT DROP AS SELECT',
  )
  const [row] = await session.rows('SELECT xmin::text AS number FROM pg_temp.vitrina_number')
  return row!.number!
}
