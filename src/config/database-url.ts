import { z } from 'zod'
import { isDecodable, NOT_DECODABLE } from './decodable.js'

const EXAMPLE = 'postgres://user:password@localhost:5432/shop'
const ESCAPES = 'in a password, # / ? @ and % are written as %23 %2F %3F %40 and %25'

/**
 * The address of a database, with its login and its server before the path. As parameters
 * (`postgresql:///shop?host=/run/postgresql&user=postgres`) the driver would give them precedence, and a URL in which
 * a login of Vitrina replaces the user would still log in as the administrator.
 */
export const databaseUrl = z.string().transform((text, context) => {
  const read = readUrl(text)
  if (typeof read === 'string') return read
  context.addIssue({ code: 'custom', message: read.problem })
  return z.NEVER
})

/** No message contains the address: it may have a password. */
function readUrl(text: string): string | { problem: string } {
  if (!/^postgres(ql)?:\/\//.test(text)) return { problem: 'must begin with postgres://' }
  if (!isDecodable(text)) return { problem: NOT_DECODABLE }
  const url = parseUrl(text)
  if (url === null || url.hash !== '') return { problem: `must be an address such as ${EXAMPLE}; ${ESCAPES}` }
  const { host, port, user, password } = Object.fromEntries(url.searchParams)
  // First: a URL without a host takes no login.
  if (host) url.hostname = host.startsWith('/') ? encodeURIComponent(host) : bracketed(host)
  if (url.hostname === '') return { problem: `must name a server, such as ${EXAMPLE}` }
  if (port) url.port = port
  if (port && url.port !== port) return { problem: 'has a port that is not a number from 1 to 65535' }
  if (user) url.username = user
  if (password) url.password = password
  return withoutParameters(url, ['host', 'port', 'user', 'password']) ? url.href : text
}

/** Null: not an address. A login without a server, which PostgreSQL allows before `?host=`, gets none here either. */
function parseUrl(text: string): URL | null {
  if (URL.canParse(text)) return new URL(text)
  const withHost = text.replace('@/', '@without-host/')
  if (!URL.canParse(withHost) || !text.includes('host=')) return null
  return new URL(withHost)
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** Whether there were any. */
function withoutParameters(url: URL, names: readonly string[]): boolean {
  const found = names.filter((name) => url.searchParams.has(name))
  for (const name of found) url.searchParams.delete(name)
  // libpq, which Spark uses, does not read + as a space.
  if (found.length > 0) url.search = url.search.replaceAll('+', '%20')
  return found.length > 0
}
