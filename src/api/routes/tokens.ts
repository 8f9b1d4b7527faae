import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf } from '../auth/bearer.js'
import { sessionKeyOf } from '../auth/same-origin.js'
import { sessionCookieOf } from '../auth/session-cookie.js'
import { plainPage } from '../schemas/page.js'
import { byId } from '../schemas/params.js'
import { newTokenWire, rotationInput, tokenInput, tokenPage, tokenToWire } from '../schemas/token.js'
import type { Api } from '../schemas/type-provider.js'
import type { SessionService } from '../services/sessions.js'
import type { TokenService } from '../services/tokens.js'
import { API_PREFIX, pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'access'

export function tokenRoutes(app: Api, tokens: TokenService, sessions: SessionService): void {
  app.post(
    '/tokens',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Create a token. Its value is shown only in this response. A session is not enough.',
        bearerOnly: true,
      }),
      schema: { body: tokenInput, response: { 201: newTokenWire } },
    },
    async (request, reply) => {
      const { name, role, expires_at: expiresAt = null } = request.body
      const { token, value } = await tokens.create({ name, role, expiresAt }, authorOf(request))
      request.events.accessChanged('token.create', token.name, token.role)
      reply.code(201).header('location', `${API_PREFIX}/tokens/${token.id}`)
      return { ...tokenToWire(token), token: value }
    },
  )

  app.get(
    '/tokens',
    {
      config: rule('admin', { tag: TAG, summary: 'List the tokens without their values, newest first.' }),
      schema: { querystring: plainPage, response: { 200: tokenPage } },
    },
    async (request, reply) => {
      const page = await tokens.list(request.query)
      return pageToWire(page, tokenToWire, { request, reply })
    },
  )

  app.post(
    '/tokens/:id/rotate',
    {
      config: rule('admin', {
        tag: TAG,
        summary:
          'Replace the value of a token. The new value is shown only in this response. The old one ends at once, or after grace_seconds. A session is not enough.',
        problems: [404, 409],
        bearerOnly: true,
      }),
      schema: { params: byId, body: rotationInput, response: { 200: newTokenWire } },
    },
    async (request) => {
      const { grace_seconds: graceSeconds = 0, expires_at: expiresAt } = request.body ?? {}
      const session = await ownCookie(request, sessions)
      const rotation = { graceSeconds, expiresAt, session }
      const { token, value } = await tokens.rotate(request.params.id, rotation, authorOf(request))
      request.events.accessChanged('token.rotate', token.name, token.role)
      return { ...tokenToWire(token), token: value }
    },
  )

  app.delete(
    '/tokens/:id',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Revoke a token: it ends at once and stays in the list.',
        problems: [404],
      }),
      schema: { params: byId, response: { 204: z.null().describe('Nothing.') } },
    },
    async (request, reply) => {
      const { name, role } = await tokens.revoke(request.params.id, authorOf(request))
      request.events.accessChanged('token.revoke', name, role)
      return reply.code(204).send(null)
    },
  )
}

/** The cookie of the browser that also sent the token, if it proves that the session is its own. */
async function ownCookie(request: FastifyRequest, sessions: SessionService): Promise<string | null> {
  const cookie = sessionCookieOf(request)
  if (cookie === null) return null
  return typeof (await sessions.find(cookie, sessionKeyOf(request))) === 'string' ? null : cookie
}
