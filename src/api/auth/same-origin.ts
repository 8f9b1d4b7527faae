import type { FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'

/** A foreign page cannot send it without a preflight, and the server answers none. */
const HEADER = 'x-csrf'
const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Browsers attach a cookie to every request, whichever page made it. So a request with a cookie must come from the
 * console, a page of this origin. SameSite=Strict alone is not enough, because another port of the same host is the
 * same site.
 */
export function requireSameOrigin(request: FastifyRequest): void {
  if (!isSameOrigin(request)) throw crossSite('The request was made by a page of another origin.')
  if (!READING.includes(request.method) && request.headers[HEADER] === undefined)
    throw crossSite('The header X-CSRF is missing.')
}

/** The key of the session, which the page received at sign-in. Null: not sent. */
export function sessionKeyOf({ headers }: FastifyRequest): string | null {
  const key = headers[HEADER]
  return typeof key === 'string' ? key : null
}

/** "none": typed into the address bar, which can only read. */
function isSameOrigin({ headers, method }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && READING.includes(method))
  // Browsers omit it on plain http that is not local; Origin is present whenever something could change.
  const { origin } = headers
  if (origin === undefined) return true
  const host = URL.canParse(origin) ? new URL(origin).host : null
  return host !== null && [headers.host, headers['x-forwarded-host']].includes(host)
}

function crossSite(detail: string): VitrinaError {
  return new VitrinaError(
    'CROSS_SITE',
    detail,
    'Open the console at /ui/. Programs send a token with "Authorization: Bearer" and no cookie.',
  )
}
