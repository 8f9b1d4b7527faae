import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Author, mayActAs, type Role } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { formatTraceparent } from '../../telemetry/trace.js'
import type { Api } from '../schemas/type-provider.js'
import type { SessionService } from '../services/sessions.js'
import { addressGroup, clientAddress } from './client-address.js'
import type { Guesses } from './guesses.js'
import { AUTH_FAILURES, type AuthFailure, type Caller, digest, type Identity } from './identity.js'
import { KnownCallers } from './known-callers.js'
import type { RateLimit } from './rate-limit.js'
import { requireSameOrigin, sessionKeyOf } from './same-origin.js'
import { sessionCookieOf } from './session-cookie.js'

/** The credential that a request was authenticated with. */
interface Credential {
  readonly tokenHash: Buffer
  readonly via: 'token' | 'session'
  /** Null for a token. */
  readonly sessionId: string | null
  /** When the session ends; null for a token. */
  readonly expiresAt: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    credential: Credential | null
    /** Checked again during long responses: the token may have been revoked meanwhile. */
    isStillValid: () => Promise<boolean>
  }
}

export interface BearerOptions {
  readonly identity: Identity
  readonly sessions: SessionService
  readonly limit: RateLimit
  readonly guesses: Guesses
}

/** Runs before the body is read, so that an unauthenticated caller cannot make the server read one. */
export function requireToken(app: Api, options: BearerOptions): void {
  const known = new KnownCallers()
  app.decorateRequest('caller', null)
  app.decorateRequest('credential', null)
  app.decorateRequest('isStillValid')
  app.addHook('onRequest', async (request, reply) => {
    const { access, bearerOnly = false } = request.routeOptions.config
    if (access === 'open') return
    const found = await letInWithin(request, options, known)
    if (typeof found === 'string') throw unauthenticated(reply, found)
    const { caller, credential } = found
    if (credential.via === 'session') requireSameOrigin(request)
    Object.assign(request, { caller, credential })
    request.isStillValid = async () => typeof (await letIn(request, options)) !== 'string'
    // A route that does not exist has no rule; a caller with a token may learn that it does not exist.
    if (access !== undefined) requireRole(request, access)
    if (bearerOnly) requireBearer(request)
  })
}

/**
 * Limits are checked before the database is queried: first that of the caller or the address, then that for wrong
 * credentials.
 */
async function letInWithin(
  request: FastifyRequest,
  options: BearerOptions,
  known: KnownCallers,
): Promise<LetIn | AuthFailure> {
  const { limit, guesses, identity } = options
  const address = addressGroup(clientAddress(request))
  const hash = hashOf(request)
  const expected = hash === null ? null : known.get(hash)
  const payer = expected ?? `address ${address}`
  limit.take(payer)
  const found = await letIn(request, options)
  if (typeof found === 'string') {
    if (hash !== null) known.delete(hash)
    if (GUESSES.includes(found)) guesses.wrong(address)
    return found
  }
  const { caller, credential } = found
  guesses.right(address, credential.via === 'token' && identity.isGuessable(credential.tokenHash))
  if (caller.id !== expected) {
    limit.giveBack(payer)
    limit.take(caller.id)
    known.set(hash!, caller.id)
  }
  return found
}

/** An expired or revoked credential was once valid. */
const GUESSES: readonly AuthFailure[] = ['unknown', 'unproven']

/** For requests where the content decides, not the route alone. */
export function requireRole(request: FastifyRequest, needed: Role): void {
  const { role } = request.caller!
  if (!mayActAs(role, needed)) throw forbidden(role, needed)
}

/** An attacker who took over a session must not obtain a token from it. */
function requireBearer(request: FastifyRequest): void {
  if (request.credential!.via === 'token') return
  throw new VitrinaError(
    'TOKEN_REQUIRED',
    'A session cannot create or rotate tokens.',
    'Send the token itself in the header "Authorization: Bearer <token>".',
  )
}

/** For versions and audit. Only routes that need a token call it. */
export function authorOf(request: FastifyRequest): Author {
  const { id, name } = request.caller!
  const traceparent = request.trace === null ? null : formatTraceparent(request.trace)
  return { id, name, requestId: request.id, traceparent }
}

interface LetIn {
  readonly caller: Caller
  readonly credential: Credential
}

async function letIn(
  request: FastifyRequest,
  { identity, sessions }: BearerOptions,
): Promise<LetIn | AuthFailure> {
  const credential = await credentialOf(request, sessions)
  if (typeof credential === 'string') return credential
  const caller = await identity.of(credential.tokenHash, clientAddress(request))
  return typeof caller === 'string' ? caller : { caller, credential }
}

/** An explicitly sent token takes precedence over a cookie, which the browser sends automatically. */
async function credentialOf(
  request: FastifyRequest,
  sessions: SessionService,
): Promise<Credential | AuthFailure> {
  const bearer = bearerOf(request)
  if (bearer !== null) return { tokenHash: digest(bearer), via: 'token', sessionId: null, expiresAt: null }
  const cookie = sessionCookieOf(request)
  if (cookie === null) return 'missing'
  const session = await sessions.find(cookie, sessionKeyOf(request))
  if (typeof session === 'string') return session
  const { id, tokenHash, expiresAt } = session
  return { tokenHash, via: 'session', sessionId: id, expiresAt }
}

/** The credential of the request, valid or not; null: none. */
function hashOf(request: FastifyRequest): Buffer | null {
  const secret = bearerOf(request) ?? sessionCookieOf(request)
  return secret === null ? null : digest(secret)
}

function unauthenticated(reply: FastifyReply, why: AuthFailure): VitrinaError {
  const challenge = 'Bearer realm="vitrina"'
  reply.header('www-authenticate', why === 'missing' ? challenge : `${challenge}, error="invalid_token"`)
  return new VitrinaError(
    'UNAUTHENTICATED',
    AUTH_FAILURES[why],
    'Send the header "Authorization: Bearer <token>" with a valid token, such as the value of VITRINA_API_TOKEN.',
  )
}

function forbidden(role: Role, needed: Role): VitrinaError {
  return new VitrinaError(
    'FORBIDDEN',
    `This requires the role ${needed}; the token has the role ${role}.`,
    `Use a token with the role ${needed}.`,
    { facts: { needed_role: needed } },
  )
}

function bearerOf(request: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}
