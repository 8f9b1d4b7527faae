import type { FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'

/** The console sends it. A foreign page cannot without asking us first, and we never allow it. */
const HEADER = 'x-csrf'
const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * A cookie comes along by itself, whoever made the browser ask. So a request with a cookie must have been made by the
 * console: a page of this very origin. SameSite=Strict alone is not enough, because another port of the same host is
 * the same site.
 */
export function requireSameOrigin(request: FastifyRequest): void {
  if (!isSameOrigin(request)) throw crossSite('The request was made by a page of another origin.')
  if (!READING.includes(request.method) && request.headers[HEADER] === undefined)
    throw crossSite('The request has a session but no header X-CSRF.')
}

/** "none": typed into the address bar, which can only read. */
function isSameOrigin({ headers, method }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && READING.includes(method))
  // Browsers leave it out on plain http that is not local; Origin is there whenever something could change.
  const { origin } = headers
  if (origin === undefined) return true
  const host = URL.canParse(origin) ? new URL(origin).host : null
  return host !== null && [headers.host, headers['x-forwarded-host']].includes(host)
}

function crossSite(detail: string): VitrinaError {
  return new VitrinaError(
    'CROSS_SITE',
    detail,
    'Open the console at /ui/. Programs send a token with "Authorization: Bearer", and no cookie.',
  )
}
