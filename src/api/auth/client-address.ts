import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * The address of the client. Behind a proxy of VITRINA_TRUSTED_PROXIES, Fastify reads X-Forwarded-For from the right,
 * up to the first address that is not trusted; a proxy that forwards invalid values counts as the client itself.
 */
export function clientAddress(request: FastifyRequest): string {
  const address = isIP(request.ip) === 0 ? (request.socket.remoteAddress ?? 'unknown') : request.ip
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** What shares a limit: an IPv4 address, or the 64-bit prefix of an IPv6 address that one subscriber gets. */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname
    .slice(1, -1)
    .split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array(8 - before.length - after.length).fill('0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
