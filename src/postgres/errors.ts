import { cutText } from '../model/cut-text.js'
import { type ErrorCode, VitrinaError } from '../model/errors.js'
import { isHopeless, isLostConnection, sqlstateOf } from '../sql/sqlstate.js'

const MOST_CHARACTERS = 1_500

/** Turns a lost connection into one uniform error; errors of the server pass unchanged. */
export function lostOr(error: unknown): unknown {
  if (error instanceof VitrinaError || !isLostConnection(error)) return error
  return new VitrinaError(
    'DATABASE_UNAVAILABLE',
    `The connection to the database failed: ${(error as Error).message || String((error as { code?: string }).code)}.`,
    'Check that the server is running and accepts connections; "vitrina doctor" tests each of them.',
    { cause: error },
  )
}

/** The database that a statement was for. Two of them are often the same server, but not the same cause. */
export type Side = 'source' | 'target' | 'meta store'

/** The code and the remedy of a statement for which a retry cannot succeed. */
const HOPELESS = {
  source: {
    code: 'SOURCE_QUERY_FAILED',
    hint: 'Correct the source query or the grants of the reader login, then run the pipeline again.',
  },
  target: {
    code: 'TARGET_FAILED',
    hint: 'Correct the target or the grants of the writer login, then run the pipeline again.',
  },
  'meta store': {
    code: 'META_STORE_FAILED',
    hint: 'Run "vitrina migrate": it restores the tables and the grants of the schema etl.',
  },
} as const satisfies Record<Side, { code: ErrorCode; hint: string }>

/** Gives errors of PostgreSQL during `work` the code of its side. Everything else passes unchanged. */
export async function onSide<T>(side: Side, doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw sqlstateOf(error) === null || error instanceof VitrinaError
      ? error
      : databaseError(error, doing, side)
  }
}

/** Classifies an error of PostgreSQL: permanent, worth a retry, or a lost connection. */
export function databaseError(error: unknown, doing: string, side: Side): VitrinaError {
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
    return new VitrinaError('INTERNAL', `${doing}: ${facts}`, 'Check the log for earlier errors.', options)
  // 28 is the login, 3D a database that does not exist: neither is about a query or a table.
  if (/^(28|3D)/.test(state))
    return new VitrinaError(
      'DATABASE_LOGIN',
      `${doing}: the ${side} refused the connection: ${facts} (SQLSTATE ${state}).`,
      hint ?? `Correct the address, the login or the password of the ${side}; "vitrina doctor" tests each.`,
      side === 'meta store' ? options : { ...options, field: `${side}_connection` },
    )
  if (isHopeless(error))
    return new VitrinaError(
      HOPELESS[side].code,
      `${doing}: ${facts} (SQLSTATE ${state}).`,
      hint ?? HOPELESS[side].hint,
      options,
    )
  return new VitrinaError(
    'DATABASE_ERROR',
    `${doing}: ${facts} (SQLSTATE ${state}).`,
    hint ?? 'If it persists, check the server log.',
    options,
  )
}

/** The same for a user who waits for the result: a query that exceeds the time limit is an error of the query. */
export function inspectionError(error: unknown, doing: string, side: Side): VitrinaError {
  const known = databaseError(error, doing, side)
  const { cause } = known
  // 57014 is the session's time-out; the signal's own applies when the server does not respond.
  if (known.sqlstate === '57014' || (cause as Error | undefined)?.name === 'TimeoutError')
    return new VitrinaError(
      'SOURCE_TOO_SLOW',
      `${doing} exceeded its time limit: the query takes too long.`,
      'Make it cheaper, for example with an index or a WHERE. A run allows an hour for a statement.',
      { cause },
    )
  // PostgreSQL's code for an internal error caused by a query.
  if (known.sqlstate === 'XX000')
    return new VitrinaError('SOURCE_QUERY_FAILED', known.message, 'Rewrite the query.', {
      cause,
      sqlstate: known.sqlstate,
    })
  return known
}
