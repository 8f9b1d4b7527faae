import { expect, it } from 'vitest'
import { hasEnded, SOON_MS, tokenStateOf } from './tokens.js'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const at = (ms: number) => new Date(NOW + ms).toISOString()

it.each([
  ['without an end', null, 'valid'],
  ['with an end far away', at(SOON_MS + 1), 'valid'],
  ['with an end that comes soon', at(SOON_MS), 'ending'],
  ['in its last millisecond', at(1), 'ending'],
  ['at its end', at(0), 'expired'],
] as const)('a token %s', (_, expires_at, state) => {
  expect(tokenStateOf({ expires_at, revoked_at: null }, NOW)).toBe(state)
})

it('a token that was revoked is that, whether or not it has expired since', () => {
  for (const expires_at of [null, at(-1), at(1)])
    expect(tokenStateOf({ expires_at, revoked_at: at(-5) }, NOW)).toBe('revoked')
  expect([hasEnded('revoked'), hasEnded('expired'), hasEnded('ending')]).toEqual([true, true, false])
})
