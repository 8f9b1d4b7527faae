import { cutText } from '../model/cut-text.js'
import { VitrinaError } from '../model/errors.js'
import { databaseError } from '../postgres/errors.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { positionOfCharacter } from './position.js'
import type { QueryProblem } from './verdict.js'

/** A message may quote a constant of the query, of any size. */
const MOST_CHARACTERS = 3_000

interface ServerMessage {
  readonly message: string
  readonly hint?: string
  readonly position?: string
}

/** An error about the query is a verdict; that the server cannot answer now is an ordinary error, and thrown. */
export function problemOfServer(error: unknown, sql: string, prefixLength: number): QueryProblem {
  const state = sqlstateOf(error)
  const { message, hint, position } = error as ServerMessage
  if (state === '25006' || /temporary (tables|objects)|during recovery/.test(message))
    throw cannotAsk(message, error)
  // 0A not supported, 10 XPath, 22 a constant that does not fit its type, 3… no such schema, 42 names, types and rights,
  // 54 too long or too deep, XX000 the same where PostgreSQL did not expect it. XX001 is a damaged table.
  if (state === null || !/^(0A|10|22|3|42|54|XX000)/.test(state))
    throw databaseError(error, 'The check of the source query', 'source')
  const character = Number(position ?? 0) - 1 - prefixLength
  return {
    code: 'SOURCE_QUERY_FAILED',
    message: `PostgreSQL rejected the query: ${cutText(message, MOST_CHARACTERS)}.`,
    hint: ourHint(state, message) ?? hint ?? 'Correct the query.',
    sqlstate: state,
    position: character < 0 ? null : positionOfCharacter(sql, character),
    // A schema, table, column or type that does not exist yet; a privilege that is not granted yet.
    mayPass: /^(3F000|42P01|42703|42704|42501)$/.test(state),
  }
}

/** Better hints than PostgreSQL's: it does not know that the search_path is empty on purpose. */
function ourHint(state: string, message: string): string | null {
  if (state === '42701') return 'Give each column a unique name with AS.'
  if (/ has pseudo-type /.test(message))
    return 'A mart cannot have a column of this type: select its fields one by one, or use to_jsonb(…).'
  if (state === '42704' && message.startsWith('type'))
    return 'Write the schema of the type, as in content.mood.'
  if (state === '42883')
    return 'Only built-in functions and operators of PostgreSQL may be used; check the types of the arguments.'
  if (state === '42501')
    return 'Grant the reader USAGE on the schema and SELECT on the table, or run "vitrina migrate".'
  return null
}

function cannotAsk(message: string, cause: unknown): VitrinaError {
  return new VitrinaError(
    'SOURCE_REFUSED',
    `The query cannot be checked on this server: ${message}.`,
    'The check creates a temporary view and rolls it back: connect to a primary server, and GRANT TEMPORARY ON DATABASE to the reader.',
    { cause },
  )
}
