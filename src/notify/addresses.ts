import { BlockList, isIP } from 'node:net'

type Network = readonly [address: string, bits: number, family: 'ipv4' | 'ipv6']

/** Never a receiver: metadata services of clouds, this network, multicast, reserved. */
const NEVER: readonly Network[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['fd00:ec2::', 32, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
  // 6to4 and Teredo: they contain an address of IPv4, which would be reached.
  ['2002::', 16, 'ipv6'],
  ['2001::', 32, 'ipv6'],
]

/** Only if an operator listed the host: this machine and private networks. */
const INTERNAL: readonly Network[] = [
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
]

/** What the Internet uses of IPv6. The rest is link-local, multicast, reserved, or contains an address of IPv4 (NAT64). */
const ROUTED: readonly Network[] = [['2000::', 3, 'ipv6']]

const never = listOf(NEVER)
const internal = listOf(INTERNAL)
const routed = listOf(ROUTED)

export type AddressKind = 'public' | 'internal' | 'never'

/** Where an address leads. An IPv4 address that is written as IPv6 (::ffff:127.0.0.1) counts as what it is. */
export function reachOf(address: string): AddressKind {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  // BlockList checks ::ffff:a.b.c.d against the networks of IPv4 too.
  if (isIP(address) === 0 || never.check(address, family)) return 'never'
  if (internal.check(address, family)) return 'internal'
  return family === 'ipv4' || MAPPED.test(address) || routed.check(address, family) ? 'public' : 'never'
}

/** An address of IPv4 in the spelling of IPv6, as the system and URLs write it. */
const MAPPED = /^::ffff:(\d+\.[\d.]+|[\da-f]+:[\da-f]+)$/i

function listOf(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const [address, bits, family] of networks) list.addSubnet(address, bits, family)
  return list
}
