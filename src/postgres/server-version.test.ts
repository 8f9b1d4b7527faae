import { describe, expect, it } from 'vitest'
import { requireSupportedVersion, untestedVersion } from './server-version.js'

const refusal = (number: number, text: string) => {
  try {
    requireSupportedVersion({ number, text })
    return null
  } catch (error) {
    return error
  }
}

describe('a version of PostgreSQL', () => {
  it.each([
    [80_002, '8.0.2'],
    [90_624, '9.6.24'],
    [130_023, '13.23 (Debian 13.23-1.pgdg12+1)'],
    [139_999, '13.99'],
  ])(
    '%i is too old, and the error has the version, the oldest supported one and a remedy',
    (number, text) => {
      expect(refusal(number, text)).toMatchObject({
        code: 'SERVER_TOO_OLD',
        message: `The server runs PostgreSQL ${text}. Vitrina needs PostgreSQL 14 or newer.`,
        hint: expect.stringContaining('14 to 18'),
      })
    },
  )

  it.each([140_000, 140_023, 150_018, 160_014, 170_010, 180_004])('%i is supported and tested', (number) => {
    expect(refusal(number, 'x')).toBeNull()
    expect(untestedVersion({ number, text: 'x' })).toBeNull()
  })

  it.each([
    [190_000, '19.0'],
    [190_000, '19beta1'],
    [200_003, '20.3'],
  ])('%i works with a warning that names it and the tested ones', (number, text) => {
    expect(refusal(number, text)).toBeNull()
    expect(untestedVersion({ number, text })).toMatch(
      new RegExp(`^The server runs PostgreSQL ${text}, .* 14 to 18\\.$`),
    )
  })
})
