import { cutText } from '../model/cut-text.js'
import { VitrinaError } from '../model/errors.js'
import { isHopeless, isLostConnection, sqlstateOf } from '../sql/sqlstate.js'

const MOST_CHARACTERS = 1_500

/** A lost connection has one face everywhere; what the server refused goes on unchanged. */
export function lostOr(error: unknown): unknown {
  if (error instanceof VitrinaError || !isLostConnection(error)) return error
  return new VitrinaError(
    'DATABASE_UNAVAILABLE',
    `The connection to the database failed: ${(error as Error).message || String((error as { code?: string }).code)}.`,
    'See whether the server runs and accepts connections; "vitrina doctor" tries each of them.',
    { cause: error },
  )
}

/** What PostgreSQL said, as an error of ours: hopeless, worth another try, or a lost connection. */
export function databaseError(error: unknown, doing: string): VitrinaError {
  const known = lostOr(error)
  if (known instanceof VitrinaError) return known
  const state = sqlstateOf(error)
  const { message, detail, hint } = error as { message?: string; detail?: string; hint?: string }
  // Both may quote a value of any size, and what follows them must not be cut off.
  const facts = [message, detail]
    .filter((text) => text !== undefined && text !== '')
    .map((text) => cutText(text!, MOST_CHARACTERS))
    .join(' ')
  const options = { cause: error, ...(state === null ? {} : { sqlstate: state }) }
  if (state === null)
    return new VitrinaError(
      'INTERNAL',
      `${doing}: ${facts}`,
      'See the log for what happened before.',
      options,
    )
  if (isHopeless(error)) {
    return new VitrinaError(
      'SOURCE_QUERY_FAILED',
      `${doing}: ${facts} (SQLSTATE ${state}).`,
      hint ?? 'Correct the query, the target or the grants, then run again.',
      options,
    )
  }
  return new VitrinaError(
    'DATABASE_ERROR',
    `${doing}: ${facts} (SQLSTATE ${state}).`,
    hint ?? 'If it stays, see the log of the server.',
    options,
  )
}

/** The same for somebody who waits for the answer: a query that outlasts his patience is the query's fault, not ours. */
export function lookError(error: unknown, doing: string): VitrinaError {
  const known = databaseError(error, doing)
  const { cause } = known
  // 57014 is the time-out of the session; the signal's own comes when the server does not hear it.
  if (known.sqlstate === '57014' || (cause as Error | undefined)?.name === 'TimeoutError')
    return new VitrinaError(
      'SOURCE_TOO_SLOW',
      `${doing} was cut off: the query takes too long.`,
      'Make it cheaper, for example with an index or a WHERE. A run has more patience: an hour for a statement.',
      { cause },
    )
  // PostgreSQL's word for what it did not expect of a query.
  if (known.sqlstate === 'XX000')
    return new VitrinaError('SOURCE_QUERY_FAILED', known.message, 'Write the query in another way.', {
      cause,
      sqlstate: known.sqlstate,
    })
  return known
}
