import type { FastifyReply, FastifyRequest } from 'fastify'

const NAME = 'vitrina_session'

/** The value that the browser sent; null: none. */
export function sessionCookieOf(request: FastifyRequest): string | null {
  const name = cookieName(request)
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2)
    if (key === name && value !== '') return value
  }
  return null
}

/** Scripts cannot read it, and other sites cannot make the browser send it. `seconds` 0 removes it. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { value, seconds }: { readonly value: string; readonly seconds: number },
): void {
  const secure = isHttps(request) ? '; Secure' : ''
  reply.header(
    'set-cookie',
    `${cookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`,
  )
}

/** With the port, because cookies do not distinguish ports: two servers on one machine would sign each other out. */
function cookieName(request: FastifyRequest): string {
  const port = /:(\d+)$/.exec(request.headers.host ?? '')?.[1]
  return port === undefined ? NAME : `${NAME}_${port}`
}

/** TLS ends at a proxy. A client that forges this header only makes its own cookie stricter. */
function isHttps(request: FastifyRequest): boolean {
  return (
    request.protocol === 'https' || request.headers['x-forwarded-proto']?.toString().split(',')[0] === 'https'
  )
}
