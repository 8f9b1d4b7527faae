import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf, requireRole } from '../auth/bearer.js'
import { setSessionCookie } from '../auth/session-cookie.js'
import { byId } from '../schemas/params.js'
import { endedWire, endSessionsQuery, listedToWire, sessionsPage, sessionsQuery } from '../schemas/session.js'
import type { Api } from '../schemas/type-provider.js'
import type { SessionScope, SessionService } from '../services/sessions.js'
import { pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'access'

/** Signed-in browsers: those of the caller, and those of all users for administrators. */
export function sessionsRoutes(app: Api, sessions: SessionService): void {
  app.get(
    '/sessions',
    {
      config: rule('viewer', { tag: TAG, summary: 'List the sessions of the token of the caller.' }),
      schema: { querystring: sessionsQuery, response: { 200: sessionsPage } },
    },
    async (request, reply) => {
      const { everyone = false, ...asked } = request.query
      const page = await sessions.list(scopeOf(request, everyone), asked)
      const { sessionId } = request.credential!
      return pageToWire(page, (item) => listedToWire(item, sessionId), { request, reply })
    },
  )

  app.delete(
    '/sessions',
    {
      config: rule('viewer', { tag: TAG, summary: 'End all sessions of the token of the caller.' }),
      schema: { querystring: endSessionsQuery, response: { 200: endedWire } },
    },
    async (request, reply) => {
      const { everyone = false, keep_current: isKept = false } = request.query
      const { sessionId } = request.credential!
      const scope = scopeOf(request, everyone)
      const ended = await sessions.endAll(scope, isKept ? sessionId : null, authorOf(request))
      request.events.accessChanged('session.end_all', scope.caller.name, scope.caller.role)
      if (!isKept && sessionId !== null) setSessionCookie(request, reply, { value: '', seconds: 0 })
      return { ended }
    },
  )

  app.delete(
    '/sessions/:id',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'End a session, together with the sessions that its codes opened.',
        problems: [404],
      }),
      schema: { params: byId, response: { 204: z.null().describe('Nothing.') } },
    },
    async (request, reply) => {
      const { id } = request.params
      const caller = request.caller!
      await sessions.end(id, { everyone: caller.role === 'admin', caller }, authorOf(request))
      request.events.accessChanged('session.end', caller.name, caller.role)
      return reply.code(204).send(null)
    },
  )
}

function scopeOf(request: FastifyRequest, everyone: boolean): SessionScope {
  if (everyone) requireRole(request, 'admin')
  return { everyone, caller: request.caller! }
}
