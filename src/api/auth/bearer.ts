import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Author, mayActAs, type Role } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import type { TokenStore } from '../../ports/token-store.js'
import type { Api } from '../schemas/type-provider.js'
import type { RateLimit } from './rate-limit.js'

/** Who asks. */
export interface Caller {
  readonly id: string
  readonly name: string
  readonly role: Role
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** Asked again by answers that take long: the token may have been revoked meanwhile. */
    isStillValid: () => Promise<boolean>
  }
}

export interface BearerOptions {
  /** The administrator's token. */
  readonly token: string
  readonly tokens: TokenStore
  readonly limit: RateLimit
}

const ADMINISTRATOR: Caller = { id: 'administrator', name: 'administrator', role: 'admin' }

/** Asked before the body is read, so that a stranger cannot make us read one. */
export function requireToken(app: Api, options: BearerOptions): void {
  const administrators = digest(options.token)
  app.decorateRequest('caller', null)
  app.decorateRequest('isStillValid')
  app.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config
    if (access === 'open') return
    const given = bearerOf(request)
    const found = given === null ? 'missing' : await identify(digest(given), administrators, options.tokens)
    options.limit.take(typeof found === 'string' ? `address ${request.ip}` : found.id)
    if (typeof found === 'string') throw unauthenticated(reply, found)
    request.caller = found
    request.isStillValid = async () =>
      typeof (await identify(digest(given!), administrators, options.tokens)) !== 'string'
    // A route that does not exist has no rule; whoever has a token may learn that it is not there.
    if (access !== undefined && !mayActAs(found.role, access)) throw forbidden(found.role, access)
  })
}

/** For versions and audit. Only routes that need a token ask. */
export function authorOf(request: FastifyRequest): Author {
  const { id, name } = request.caller!
  return { id, name, requestId: request.id }
}

type Refusal = 'missing' | 'unknown' | 'expired' | 'revoked'

async function identify(hash: Buffer, administrators: Buffer, tokens: TokenStore): Promise<Caller | Refusal> {
  if (timingSafeEqual(hash, administrators)) return ADMINISTRATOR
  const found = await tokens.findToken(hash)
  if (found === null) return 'unknown'
  if (found.state !== 'valid') return found.state
  // Names are not unique; the beginning of the id tells two of them apart in the audit.
  return { id: found.id, name: `${found.name}#${found.id.slice(0, 8)}`, role: found.role }
}

const REFUSALS: Readonly<Record<Refusal, string>> = {
  missing: 'The request carries no bearer token.',
  unknown: 'The token is not valid.',
  expired: 'The token has expired.',
  revoked: 'The token was revoked.',
}

function unauthenticated(reply: FastifyReply, why: Refusal): VitrinaError {
  const challenge = 'Bearer realm="vitrina"'
  reply.header('www-authenticate', why === 'missing' ? challenge : `${challenge}, error="invalid_token"`)
  return new VitrinaError(
    'UNAUTHENTICATED',
    REFUSALS[why],
    'Send the header "Authorization: Bearer <token>" with a token that is valid, such as that of VITRINA_API_TOKEN.',
  )
}

function forbidden(role: Role, needed: Role): VitrinaError {
  return new VitrinaError(
    'FORBIDDEN',
    `This needs the role ${needed}; the token has the role ${role}.`,
    `Use a token with the role ${needed}.`,
    { facts: { needed_role: needed } },
  )
}

function bearerOf(request: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

/** Equal lengths, whatever was given: timingSafeEqual throws otherwise, and the length itself would be told by time. */
export function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
