import { VitrinaError } from '../model/errors.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { HTTP_STATUS } from './http-status.js'

/** What went wrong with a request: the error that is told, and the status it is told with. */
export interface Failure {
  readonly error: VitrinaError
  readonly status: number
}

/** Gives every error that can reach the edge of the API one of our codes. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof VitrinaError) return { error: thrown, status: HTTP_STATUS[thrown.code] }
  const error = refusedByServer(thrown) ?? refusedByDatabase(thrown)
  if (error !== null) return { error, status: clientStatus(thrown) ?? HTTP_STATUS[error.code] }
  const unexpected = new VitrinaError(
    'INTERNAL',
    'The request could not be answered.',
    'The log has the reason: look for the request_id.',
    { cause: thrown },
  )
  return { error: unexpected, status: 500 }
}

/** What was refused before a route saw it: by us with a sentence, by Fastify with words of its own. */
function refusedByServer(thrown: unknown): VitrinaError | null {
  if (clientStatus(thrown) === null) return null
  const { message, code = '' } = thrown as Error & { code?: string }
  const [detail, hint] = REFUSALS[code] ?? [message, SEND_JSON]
  return new VitrinaError('REQUEST_INVALID', detail, hint, { cause: thrown })
}

const SEND_JSON = 'Send a JSON body that is valid, with "Content-Type: application/json".'

const REFUSALS: Readonly<Record<string, readonly [detail: string, hint: string]>> = {
  FST_ERR_BAD_URL: [
    'The path cannot be decoded.',
    'Write everything but letters, digits and -._~ as %XX, in UTF-8.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: ['A part of the path is too long.', 'See /docs for the routes; ids are UUIDs.'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['The body is larger than 1 MiB.', 'Send less at once.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['The content type cannot be read.', SEND_JSON],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['The body is not as long as Content-Length says.', SEND_JSON],
}

function clientStatus(thrown: unknown): number | null {
  const status = (thrown as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null
}

function refusedByDatabase(thrown: unknown): VitrinaError | null {
  const sqlstate = sqlstateOf(thrown)
  if (sqlstate === null) return null
  const { message, hint } = thrown as { message: string; hint?: string }
  const as = (code: VitrinaError['code'], detail: string, remedy: string) =>
    new VitrinaError(code, detail, remedy, { cause: thrown, sqlstate })
  // VT001 is what etl.move_pipeline raises; somebody moved the pipeline between our look and our step.
  if (sqlstate === 'VT001')
    return as(
      'TRANSITION_REFUSED',
      sentence(message),
      hint ?? 'Read the status of the pipeline and try again.',
    )
  // VT002: what would corrupt a run is refused while one is under way.
  if (sqlstate === 'VT002')
    return as('PIPELINE_BUSY', sentence(message), hint ?? 'Pause it or wait until it is IDLE.')
  // VT004: a task plan that the rules of the plan do not allow.
  if (sqlstate === 'VT004')
    return as('TASK_PLAN_INVALID', sentence(message), hint ?? 'Send the whole plan in one request.')
  // VT005 is what etl.refuse_second_writer raises: two users claimed the same target at the same moment.
  if (sqlstate === 'VT005') return as('TARGET_TAKEN', sentence(message), hint ?? 'Choose another target.')
  if (/^22/.test(sqlstate))
    return as(
      'REQUEST_INVALID',
      `The database refused a value of the request: ${message}.`,
      'Correct the value.',
    )
  if (/^(42P01|42703|42883|3F000)$/.test(sqlstate))
    return as(
      'MIGRATION_MISSING',
      `The meta store is not as this program needs it: ${message}.`,
      'Run "vitrina migrate".',
    )
  if (/^(28|3D)/.test(sqlstate))
    return as(
      'DATABASE_UNAVAILABLE',
      `The database refused the connection: ${message}.`,
      'Check VITRINA_API_DATABASE_URL; "vitrina doctor" tries it.',
    )
  // Deadlock, lock or statement timeout, too many connections: gone in a moment.
  if (/^(40|53|55P03|57014)/.test(sqlstate))
    return as('DATABASE_ERROR', sentence(message), 'Try again in a moment.')
  return null
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}
