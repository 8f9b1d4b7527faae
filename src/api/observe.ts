import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiEvents } from '../telemetry/api-events.js'
import type { Logger } from '../telemetry/log.js'
import type { Meter } from '../telemetry/meter.js'
import { pathOf } from './problem.js'
import type { Api } from './schemas/type-provider.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Tells what this request brought about; every line carries its id. */
    events: ApiEvents
  }
  interface FastifyContextConfig {
    /** Asked every few seconds by machines: its answers are logged at debug. */
    quiet?: boolean
  }
}

/** The caller's own id if it is harmless in logs and headers, else a new one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID()
}

export function observeRequests(app: Api, log: Logger, meter: Meter): void {
  app.decorateRequest('events')
  app.addHook('onRequest', async (request, reply) => {
    request.events = new ApiEvents(log.child({ request_id: request.id }), meter)
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    request.events.answered({
      method: request.method,
      path: pathOf(request),
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      quiet: request.routeOptions.config.quiet === true,
    })
  })
}
