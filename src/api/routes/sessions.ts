import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf, requireRole } from '../auth/bearer.js'
import { setSessionCookie } from '../auth/session-cookie.js'
import { byId } from '../schemas/params.js'
import { endedWire, endSessionsQuery, listedToWire, sessionsPage, sessionsQuery } from '../schemas/session.js'
import type { Api } from '../schemas/type-provider.js'
import type { SessionScope, SessionService } from '../services/sessions.js'
import { linkNext } from './links.js'
import { rule } from './rule.js'

const TAG = 'access'

/** Browsers that are signed in: one's own, and everybody's for administrators. */
export function sessionsRoutes(app: Api, sessions: SessionService): void {
  app.get(
    '/sessions',
    {
      config: rule('viewer', TAG, 'Lists the browsers that are signed in with the token that asks.'),
      schema: { querystring: sessionsQuery, response: { 200: sessionsPage } },
    },
    async (request, reply) => {
      const { everyone = false, ...page } = request.query
      const { items, nextCursor } = await sessions.list(scopeOf(request, everyone), page)
      linkNext(request, reply, nextCursor)
      const { sessionId } = request.credential!
      return { items: items.map((item) => listedToWire(item, sessionId)), next_cursor: nextCursor }
    },
  )

  app.delete(
    '/sessions',
    {
      config: rule('viewer', TAG, 'Ends all sessions of the token that asks.'),
      schema: { querystring: endSessionsQuery, response: { 200: endedWire } },
    },
    async (request, reply) => {
      const { everyone = false, keep_current: isKept = false } = request.query
      const { sessionId } = request.credential!
      const scope = scopeOf(request, everyone)
      const ended = await sessions.endAll(scope, isKept ? sessionId : null, authorOf(request))
      request.events.accessChanged('session.end_all', scope.caller.name, scope.caller.role)
      if (!isKept && sessionId !== null) setSessionCookie(request, reply, '', 0)
      return { ended }
    },
  )

  app.delete(
    '/sessions/:id',
    {
      config: rule('viewer', TAG, 'Ends a session, and those that its codes opened.', { problems: [404] }),
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
