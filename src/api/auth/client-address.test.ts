import { expect, it } from 'vitest'
import { addressGroup, clientAddress } from './client-address.js'

const from = (ip: string, remoteAddress = '192.0.2.7') =>
  clientAddress({ ip, socket: { remoteAddress } } as never)

it('normalizes an IPv4 address, and ignores values that are not addresses', () => {
  expect(from('::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(from('2001:db8::1')).toBe('2001:db8::1')
  expect(from('nonsense')).toBe('192.0.2.7')
})

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', 'unknown'],
])('counts %s as %s', (address, group) => {
  expect(addressGroup(address)).toBe(group)
})
