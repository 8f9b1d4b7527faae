import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { VitrinaError } from '../model/errors.js'
import { reachOf } from './addresses.js'

/** Which hosts may be reached. Null: those of the channels, as long as their addresses are public. */
export type AllowedHosts = ReadonlySet<string> | null

export interface ResolvedHost {
  readonly address: string
  readonly family: 4 | 6
}

/**
 * The address to connect to. It is resolved once, checked, and used for the connection: a name that changes its address
 * between the check and the connection gains nothing.
 */
export async function resolveAllowed(
  host: string,
  allowed: AllowedHosts,
  signal: AbortSignal,
): Promise<ResolvedHost> {
  const name = plainHost(host)
  if (allowed !== null && !allowed.has(name))
    throw refused(
      `The host ${name} is not in VITRINA_NOTIFY_ALLOWED_HOSTS.`,
      'Add the host to VITRINA_NOTIFY_ALLOWED_HOSTS, or correct the channel.',
    )
  const addresses = await addressesOf(name, signal)
  // All of them: a name with a public and an internal address must not reach the internal one by chance.
  for (const { address } of addresses) {
    const reach = reachOf(address)
    if (reach === 'never')
      throw refused(
        `The host ${name} has the address ${address}, to which notifications are never sent.`,
        'Link-local, metadata, multicast and reserved addresses are rejected. Correct the channel or its DNS record.',
      )
    if (reach === 'internal' && allowed === null)
      throw refused(
        `The host ${name} has the address ${address}, which is on this machine or in a private network.`,
        'To allow it, list the hosts of all channels in VITRINA_NOTIFY_ALLOWED_HOSTS.',
      )
  }
  return addresses[0]!
}

async function addressesOf(host: string, signal: AbortSignal): Promise<ResolvedHost[]> {
  const literal = isIP(host)
  if (literal === 4 || literal === 6) return [{ address: host, family: literal }]
  try {
    // A lookup cannot be aborted; one that never ends must not hold up all other messages.
    const found = await Promise.race([lookup(host, { all: true }), aborted(signal)])
    if (found.length > 0) return found.map(({ address, family }) => ({ address, family: family as 4 | 6 }))
  } catch (error) {
    const { code = 'unknown error' } = signal.aborted ? { code: 'no response' } : (error as { code?: string })
    throw new VitrinaError(
      'CHANNEL_FAILED',
      `The host ${host} could not be resolved (${code}).`,
      'Check the host of the channel and the DNS of the API server.',
      { cause: error },
    )
  }
  throw refused(`The host ${host} has no address.`, 'Check the host of the channel.')
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Lower case, without a trailing dot and without the brackets of IPv6: one spelling for one host. */
export function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

function refused(detail: string, hint: string): VitrinaError {
  return new VitrinaError('CHANNEL_REFUSED', detail, hint)
}
