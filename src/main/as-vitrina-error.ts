import { VitrinaError } from '../model/errors.js'
import { lostOr } from '../postgres/errors.js'
import { sqlstateOf } from '../sql/sqlstate.js'

/** Any thrown value as an error that a person can act on. `setting` contains the address of the database. */
export function asVitrinaError(error: unknown, setting = 'DATABASE_URL'): VitrinaError {
  const known = lostOr(error)
  if (known instanceof VitrinaError) return known
  const message = error instanceof Error ? error.message : String(error)
  const sqlstate = sqlstateOf(error)
  if (sqlstate !== null)
    return new VitrinaError(
      'DATABASE_ERROR',
      `PostgreSQL reports: ${message} (SQLSTATE ${sqlstate}).`,
      remedyFor(sqlstate, setting),
      { cause: error, sqlstate },
    )
  return new VitrinaError(
    'INTERNAL',
    message,
    'Unexpected error. Set LOG_LEVEL=debug to see the stack trace.',
    { cause: error },
  )
}

function remedyFor(sqlstate: string, setting: string): string {
  if (sqlstate.startsWith('28'))
    return `Compare the login and the password in ${setting} with those of the server.`
  if (sqlstate === '3D000') return `Create the database, or name another one in ${setting}.`
  if (sqlstate === '42501') return `${setting} needs a login that may create schemas and roles.`
  if (sqlstate === '53300')
    return 'Close some connections, or raise max_connections of the server or VITRINA_LOGIN_SESSIONS.'
  return 'Run "vitrina doctor" to check the database step by step.'
}
