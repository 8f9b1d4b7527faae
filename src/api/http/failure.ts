import { VitrinaError } from '../../model/errors.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import { HTTP_STATUS } from './http-status.js'

/** A failed request: the reported error and the HTTP status. */
export interface Failure {
  readonly error: VitrinaError
  readonly status: number
}

/** Maps every error that reaches the edge of the API to one of our codes. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof VitrinaError) return { error: thrown, status: HTTP_STATUS[thrown.code] }
  const error = refusedByServer(thrown) ?? refusedByDatabase(thrown)
  if (error !== null) return { error, status: clientStatus(thrown) ?? HTTP_STATUS[error.code] }
  const unexpected = new VitrinaError(
    'INTERNAL',
    'The request failed.',
    'Search the log for the request_id to find the reason.',
    { cause: thrown },
  )
  return { error: unexpected, status: 500 }
}

/** Requests rejected before they reach a route: by Vitrina with a sentence, by Fastify with its own message. */
function refusedByServer(thrown: unknown): VitrinaError | null {
  if (clientStatus(thrown) === null) return null
  const { message, code = '' } = thrown as Error & { code?: string }
  const [detail, hint] = REFUSALS[code] ?? [message, SEND_JSON]
  return new VitrinaError('REQUEST_INVALID', detail, hint, { cause: thrown })
}

const SEND_JSON = 'Send a valid JSON body with "Content-Type: application/json".'

const REFUSALS: Readonly<Record<string, readonly [detail: string, hint: string]>> = {
  FST_ERR_BAD_URL: [
    'The path cannot be decoded.',
    'Percent-encode everything except letters, digits and -._~ as UTF-8.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: [
    'A segment of the path is too long.',
    'See /docs for the routes; ids are UUIDs.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['The body is larger than 1 MiB.', 'Send a smaller body.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['The content type is invalid.', SEND_JSON],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['The length of the body does not match Content-Length.', SEND_JSON],
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
  // VT001 is raised by etl.move_pipeline: the status changed between reading it and this change.
  if (sqlstate === 'VT001')
    return as(
      'TRANSITION_REFUSED',
      sentence(message),
      hint ?? 'Read the status of the pipeline and try again.',
    )
  // VT002: a change that would corrupt a run is rejected while one is in progress.
  if (sqlstate === 'VT002')
    return as('PIPELINE_BUSY', sentence(message), hint ?? 'Pause it, or wait until it is IDLE.')
  // VT004: a task plan that breaks the rules for plans.
  if (sqlstate === 'VT004')
    return as('TASK_PLAN_INVALID', sentence(message), hint ?? 'Send the whole plan in one request.')
  // VT005 is raised by etl.refuse_second_writer: two users claimed the same target at the same moment.
  if (sqlstate === 'VT005') return as('TARGET_TAKEN', sentence(message), hint ?? 'Choose another target.')
  // VT006 is raised by etl.require_no_cycle.
  if (sqlstate === 'VT006')
    return as(
      'ORDER_CYCLE',
      sentence(message),
      hint ?? 'Read another table, or set after to none on one of these pipelines.',
    )
  if (/^22/.test(sqlstate))
    return as(
      'REQUEST_INVALID',
      `The database rejected a value of the request: ${message}.`,
      'Correct the value.',
    )
  if (/^(42P01|42703|42883|3F000)$/.test(sqlstate))
    return as(
      'MIGRATION_MISSING',
      `The meta store does not have the schema that this program needs: ${message}.`,
      'Run "vitrina migrate".',
    )
  if (/^(28|3D)/.test(sqlstate))
    return as(
      'DATABASE_UNAVAILABLE',
      `The database rejected the connection: ${message}.`,
      'Check VITRINA_API_DATABASE_URL; "vitrina doctor" tests it.',
    )
  // Deadlock, lock or statement timeout, too many connections: temporary.
  if (/^(40|53|55P03|57014)/.test(sqlstate))
    return as('DATABASE_ERROR', sentence(message), 'Try again in a moment.')
  return null
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}
