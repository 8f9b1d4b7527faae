import { describe, expect, it } from 'vitest'
import { line } from './text.js'

const name = line(200)
const pattern = new RegExp(String(name.meta()?.pattern), 'u')

describe('a name', () => {
  it.each([
    'film_dim',
    'Витрина фильмов',
    '映画',
    'daily 🎬',
    'loved ❤\ufe0f',
    '1\ufe0f\u20e3',
    "O'Brien's mart",
  ])('may be %j', (text) => {
    expect(name.safeParse(text).success).toBe(true)
    expect(pattern.test(text)).toBe(true)
  })

  it.each([
    'film\u200bdim',
    'film\u200ddim',
    '\ufefffilm',
    'film\u00addim',
    'nimda\u202e',
    '\u2066film\u2069',
    'film\u2028dim',
    'film\u3164',
    'film\u2800dim',
    'film\u180bdim',
    'film\x1b[2J',
  ])('must not be %j, in the API and in the JSON Schema', (text) => {
    expect(name.safeParse(text).success).toBe(false)
    expect(pattern.test(text)).toBe(false)
  })

  it.each(['film\u{e0041}', 'film\u{e0100}dim'])(
    'must not hide characters beyond the basic plane: %j',
    (text) => {
      expect(name.safeParse(text).success).toBe(false)
    },
  )

  it.each(['film\ufe0fdim', 'film\ufe00', '\ufe0ffilm'])('must not have a variation selector: %j', (text) => {
    expect(name.safeParse(text).success).toBe(false)
  })
})
