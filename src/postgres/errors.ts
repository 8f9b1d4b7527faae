import { cutText } from '../model/cut-text.js'
import { type ErrorCode, VitrinaError } from '../model/errors.js'
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

/** Which database a statement was meant for. Often two of them are the same server, and still not the same cause. */
export type Side = 'source' | 'target' | 'meta store'

/** The code and the remedy of a statement that cannot succeed when it is tried again. */
const HOPELESS = {
  source: {
    code: 'SOURCE_QUERY_FAILED',
    hint: 'Correct the source query or the grants of the login that reads, then run again.',
  },
  target: {
    code: 'TARGET_FAILED',
    hint: 'Correct the target or the grants of the login that writes, then run again.',
  },
  'meta store': {
    code: 'META_STORE_FAILED',
    hint: 'Run "vitrina migrate": it restores the tables and the grants of the schema etl.',
  },
} as const satisfies Record<Side, { code: ErrorCode; hint: string }>

/** Gives what PostgreSQL refuses during `work` the code of its side. Everything else passes unchanged. */
export async function onSide<T>(side: Side, doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw sqlstateOf(error) === null || error instanceof VitrinaError
      ? error
      : databaseError(error, doing, side)
  }
}

/** What PostgreSQL said, as an error of ours: hopeless, worth another try, or a lost connection. */
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
    return new VitrinaError(
      'INTERNAL',
      `${doing}: ${facts}`,
      'See the log for what happened before.',
      options,
    )
  // 28 is the login, 3D a database that does not exist: neither says anything about a query or a table.
  if (/^(28|3D)/.test(state))
    return new VitrinaError(
      'DATABASE_LOGIN',
      `${doing}: the ${side} refused the connection: ${facts} (SQLSTATE ${state}).`,
      hint ?? `Correct the address, the login or the password of the ${side}; "vitrina doctor" tries each.`,
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
    hint ?? 'If it stays, see the log of the server.',
    options,
  )
}

/** The same for somebody who waits for the answer: a query that outlasts his patience is the query's fault, not ours. */
export function lookError(error: unknown, doing: string, side: Side): VitrinaError {
  const known = databaseError(error, doing, side)
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
