import type { FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from '../model/errors.js'
import { redactText } from '../telemetry/redact.js'
import { type Failure, toFailure } from './failure.js'
import { type FieldError, RequestInvalid } from './schemas/request-invalid.js'
import type { Api } from './schemas/type-provider.js'
import { errorFor } from './services/server-words.js'

const RETRY_AFTER_SECONDS = 5

/** RFC 9457, with what our users need beyond it: the code, the hint, and the id that finds the request in the log. */
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

/** Every error leaves as a problem document; one that is our fault is logged with its cause. */
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
  // Serialised here, so that the schema of the route's good answer is not asked about this one.
  return reply
    .code(failure.status)
    .type('application/problem+json')
    .send(JSON.stringify(toProblem({ id: request.id, path: pathOf(request) }, failure)))
}

/** The request by its id in the log, and the path that was asked. */
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

/** A field may hold anything, and a mistake in it repeats it. */
function shownError({ field, code, message }: FieldError): FieldError {
  return { field: redactText(field), code, message: redactText(message) }
}

/** Without the query: people put things there that belong nowhere else. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '/'
}
