import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'
import type { Api } from '../schemas/type-provider.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers without a token. Everything else needs one, unknown routes too. */
    open?: boolean
  }
}

/** Asked before the body is read, so that a stranger cannot make us read one. */
export function requireToken(app: Api, token: string): void {
  const expected = digest(token)
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.open === true) return
    const given = bearerOf(request)
    if (given !== null && timingSafeEqual(digest(given), expected)) return
    reply.header(
      'www-authenticate',
      given === null ? 'Bearer realm="vitrina"' : 'Bearer realm="vitrina", error="invalid_token"',
    )
    throw new VitrinaError(
      'UNAUTHENTICATED',
      given === null ? 'The request carries no bearer token.' : 'The token is not valid.',
      'Send the header "Authorization: Bearer <token>" with the token of VITRINA_API_TOKEN.',
    )
  })
}

function bearerOf(request: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

/** Equal lengths, whatever was given: timingSafeEqual throws otherwise, and the length itself would be told by time. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
