import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiEvents } from '../../telemetry/api-events.js'
import type { Logger } from '../../telemetry/log.js'
import type { Meter } from '../../telemetry/meter.js'
import {
  NO_SPAN,
  NO_TRACER,
  parseTraceparent,
  type Span,
  type SpanEnd,
  type SpanStart,
  type TraceContext,
  type Tracer,
} from '../../telemetry/trace.js'
import type { Api } from '../schemas/type-provider.js'
import { requestPath } from './problem.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Logs the effects of this request; every line carries its id. */
    events: ApiEvents
    /** Its position in a trace, ours or the caller's; null: not traced. */
    trace: TraceContext | null
    span: Span
  }
  interface FastifyContextConfig {
    /** Requested every few seconds by machines: its responses are logged at debug. */
    quiet?: boolean
  }
}

/** The caller's own id if it is safe in logs and headers, else a new one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID()
}

export interface Observers {
  readonly log: Logger
  readonly meter: Meter
  readonly tracer?: Tracer
}

export function observeRequests(app: Api, { log, meter, tracer = NO_TRACER }: Observers): void {
  app.decorateRequest('events')
  app.decorateRequest('trace', null)
  app.decorateRequest('span')
  app.addHook('onRequest', async (request, reply) => {
    const given = parseTraceparent(request.headers.traceparent)
    request.span = isQuiet(request) ? NO_SPAN : tracer.start(spanOf(request, given))
    request.trace = request.span.context ?? given
    const about = { request_id: request.id, ...(request.trace && { trace_id: request.trace.traceId }) }
    request.events = new ApiEvents(log.child(about), meter)
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    request.events.answered({
      method: request.method,
      path: requestPath(request),
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      quiet: isQuiet(request),
    })
    request.span.end({ ...answerOf(request, reply) })
  })
}

function isQuiet(request: FastifyRequest): boolean {
  return request.routeOptions.config.quiet === true
}

/** The path without the query, which may contain anything. */
function spanOf(request: FastifyRequest, parent: TraceContext | null): SpanStart {
  const route = request.routeOptions.url ?? 'unknown'
  const attributes = {
    'http.request.method': request.method,
    'http.route': route,
    'url.path': requestPath(request),
    'vitrina.request.id': request.id,
  }
  return { name: `${request.method} ${route}`, kind: 'server', parent, attributes }
}

function answerOf({ caller }: FastifyRequest, { statusCode }: FastifyReply): SpanEnd {
  const attributes = {
    'http.response.status_code': statusCode,
    'vitrina.caller': caller?.name ?? null,
  }
  // An error of the caller is not a failure of the server.
  const failed = { type: String(statusCode), means: 'The request failed.', sqlstate: null }
  return { attributes, error: statusCode >= 500 ? failed : null }
}
