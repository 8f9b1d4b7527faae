import type { CheckpointState } from '../../checkpoints/checkpoint.js'
import { NO_ROWS } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { Session } from '../../postgres/session.js'
import type { Cursor } from '../../sql/selection.js'
import type { Attempt } from '../attempt.js'
import { type MartChange, NO_CHANGE } from '../marts/mart.js'
import { END_OF_PASS } from '../progression.js'
import type { Portion } from '../readers/reader.js'
import type { Stream } from '../routes/route.js'
import type { BatchOutcome } from '../run-batches.js'

/** A full or an incremental pass over the rows of the query: only the progression differs. */
export class Pass<Rows> implements Step {
  readonly name: string
  readonly #attempt: Attempt<unknown>
  readonly #stream: Stream<Rows>
  #began = false

  constructor(name: string, attempt: Attempt<unknown>, stream: Stream<Rows>) {
    this.name = name
    this.#attempt = attempt
    this.#stream = stream
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { reader, progression } = this.#stream
    const portion = await reader.next(limit)
    const isFirst = !this.#began
    this.#began = true
    const { batches } = this.#attempt
    if (portion !== null)
      return batches.run(this.name, (id) => this.#write(portion, id), { earlier: portion.phases })
    if (!isFirst || !progression.unfinished) return null
    // An unfinished pass has no more rows: only its position has to be removed.
    return batches.run(this.name, async () => ({
      change: NO_CHANGE,
      state: await progression.moved(END_OF_PASS),
      ends: true,
    }))
  }

  async #write(portion: Portion<Rows>, id: BatchId): Promise<BatchOutcome> {
    const { writer, progression } = this.#stream
    const written = portion.isUnchanged === true ? unchanged(portion) : await writer.write(portion.rows, id)
    const change = counted(written, portion)
    const moved = await progression.moved(portion)
    const state =
      portion.isOnly === undefined
        ? moved
        : await withTransactionId(this.#attempt.session, moved, portion.isOnly)
    return { change, state, ends: portion.isLast, ...portionKeys(portion) }
  }
}

function unchanged({ count }: Portion<unknown>): MartChange {
  return { ...NO_CHANGE, rows: { ...NO_ROWS, unchanged: count ?? 0 } }
}

/** The rows that the source returned, whatever the transforms made of them. */
export function counted(change: MartChange, { count }: Portion<unknown>): MartChange {
  return count === null ? change : { ...change, rows: { ...change.rows, read: count } }
}

/** The keys of a batch, for the history of the run. */
export function portionKeys({ after, last }: Portion<unknown>): Pick<BatchOutcome, 'firstKey' | 'lastKey'> {
  return { firstKey: cursorText(after), lastKey: cursorText(last) }
}

function cursorText(cursor: Cursor | null): string | null {
  return cursor === null ? null : cursor.join(', ')
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
  const written = 'SELECT xmin::text AS number FROM pg_temp.vitrina_number'
  return (await session.row<{ number: string }>(written)).number
}
