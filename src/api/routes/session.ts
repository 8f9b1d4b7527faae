import { z } from 'zod'
import { clientAddress } from '../auth/client-address.js'
import { requireSameOrigin } from '../auth/same-origin.js'
import { sessionCookieOf, setSessionCookie } from '../auth/session-cookie.js'
import {
  codeWire,
  type ServerFacts,
  sessionToWire,
  sessionWire,
  signedInWire,
  signInBody,
} from '../schemas/session.js'
import type { Api } from '../schemas/type-provider.js'
import { SESSION_SECONDS, type SessionService } from '../services/sessions.js'
import { rule } from './rule.js'

const TAG = 'access'

/** Sign-in of browsers. Programs send their token with every request and do not need sessions. */
export function sessionRoutes(app: Api, sessions: SessionService, facts: ServerFacts): void {
  app.post(
    '/session',
    {
      config: rule('open', {
        tag: TAG,
        summary: 'Sign a browser in with a token: the response sets a cookie and contains its key.',
        problems: [400, 401, 403, 422, 429, 503],
      }),
      schema: { body: signInBody, response: { 200: signedInWire } },
    },
    async (request, reply) => {
      requireSameOrigin(request)
      const userAgent = request.headers['user-agent'] ?? null
      const origin = { address: clientAddress(request), userAgent }
      const { caller, value, key, expiresAt } = await sessions.open({ ...request.body, ...origin })
      request.events.accessChanged('session.open', caller.name, caller.role)
      setSessionCookie(request, reply, { value, seconds: SESSION_SECONDS })
      return { ...sessionToWire(caller, { via: 'session', expiresAt }, facts), csrf_token: key }
    },
  )

  app.get(
    '/session',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get the current identity and information about this server.',
        quiet: true,
      }),
      schema: { response: { 200: sessionWire } },
    },
    async (request) => sessionToWire(request.caller!, request.credential!, facts),
  )

  app.delete(
    '/session',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Sign a browser out: its session ends, together with the sessions that its codes opened.',
      }),
      schema: { response: { 204: z.null().describe('Nothing.') } },
    },
    async (request, reply) => {
      if (request.credential!.via === 'session') await sessions.close(sessionCookieOf(request)!)
      setSessionCookie(request, reply, { value: '', seconds: 0 })
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/session/code',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Create a code that signs a browser in once, as the caller.',
      }),
      schema: { response: { 201: codeWire } },
    },
    async (request, reply) => {
      const { tokenHash, sessionId } = request.credential!
      const { code, expiresAt } = await sessions.createCode(tokenHash, sessionId)
      reply.code(201)
      return { code, expires_at: expiresAt }
    },
  )
}
