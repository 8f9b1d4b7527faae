import type { FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from '../../model/errors.js'
import { redactText } from '../../telemetry/redact.js'
import { type FieldError, RequestInvalid } from '../schemas/request-invalid.js'
import type { Api } from '../schemas/type-provider.js'
import { errorFor } from '../services/server-messages.js'
import { type Failure, toFailure } from './failure.js'

const RETRY_AFTER_SECONDS = 5

/** RFC 9457 with additional fields: the code, the hint, and the id that identifies the request in the log. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly vtr: string
  readonly hint: string
  readonly retryable: boolean
  readonly request_id: string
  readonly sqlstate?: string
  readonly errors?: readonly FieldError[]
}

/** Every error is sent as a problem document; a fault of the server is logged with its cause. */
export function answerWithProblems(app: Api): void {
  app.setErrorHandler((thrown, request, reply) => {
    const failure = toFailure(thrown)
    if (failure.error.code === 'DATABASE_UNAVAILABLE') request.events.metaStoreLost(failure.error)
    else if (failure.status >= 500) request.events.requestFailed(failure.error)
    return sendProblem(request, reply, failure)
  })
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, thrown: Failure): FastifyReply {
  const failure = { ...thrown, error: errorFor(request.caller?.role ?? null, thrown.error) }
  if (failure.status === 503 || failure.status === 429) {
    const seconds = failure.error.facts.retry_after_seconds
    reply.header('retry-after', typeof seconds === 'number' ? seconds : RETRY_AFTER_SECONDS)
  }
  // Serialised here, so that the response schema of the route is not applied to it.
  return reply
    .code(failure.status)
    .type('application/problem+json')
    .send(JSON.stringify(toProblem({ id: request.id, path: requestPath(request) }, failure)))
}

/** The id of the request in the log, and the requested path. */
export function toProblem(request: { id: string; path: string }, { error, status }: Failure): Problem {
  const errors = error instanceof RequestInvalid ? error.errors : error.mistakes
  return {
    type: `urn:vitrina:error:${error.code}`,
    title: ERRORS[error.code].means,
    status,
    detail: redactText(error.message),
    instance: redactText(request.path),
    code: error.code,
    vtr: error.vtr,
    hint: redactText(error.hint),
    retryable: status === 503 || status === 429,
    request_id: request.id,
    ...(error.sqlstate === null ? {} : { sqlstate: error.sqlstate }),
    ...error.facts,
    ...(errors.length === 0 ? {} : { errors: errors.map(shownError) }),
  }
}

/** A field may contain anything, and its error message repeats it. */
function shownError({ field, code, message }: FieldError): FieldError {
  return { field: redactText(field), code, message: redactText(message) }
}

/** Without the query, which may contain data that must not be repeated. */
export function requestPath(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '/'
}
