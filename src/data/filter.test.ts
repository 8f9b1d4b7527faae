import { describe, expect, it } from 'vitest'
import { VitrinaError } from '../model/errors.js'
import { parseFilter } from './filter.js'

describe('the language of filters', () => {
  it.each([
    ['rating >= 8', [{ kind: 'compare', column: 'rating', operator: '>=', value: '8' }]],
    ['rating<>8', [{ kind: 'compare', column: 'rating', operator: '!=', value: '8' }]],
    ["title = 'it''s'", [{ kind: 'compare', column: 'title', operator: '=', value: "it's" }]],
    ['"Odd ""name""" = 1', [{ kind: 'compare', column: 'Odd "name"', operator: '=', value: '1' }]],
    [
      'at > 2026-11-15T10:00:00Z',
      [{ kind: 'compare', column: 'at', operator: '>', value: '2026-11-15T10:00:00Z' }],
    ],
    ['n in (1, 2,-3)', [{ kind: 'in', column: 'n', not: false, values: ['1', '2', '-3'] }]],
    ["type NOT IN ('a b')", [{ kind: 'in', column: 'type', not: true, values: ['a b'] }]],
    [
      'a is null AND b is not null',
      [
        { kind: 'null', column: 'a', not: false },
        { kind: 'null', column: 'b', not: true },
      ],
    ],
    ["title contains '%'", [{ kind: 'contains', column: 'title', not: false, value: '%' }]],
    ['название not contains мир', [{ kind: 'contains', column: 'название', not: true, value: 'мир' }]],
    [
      "and = 'and' and or = ''",
      [
        { kind: 'compare', column: 'and', operator: '=', value: 'and' },
        { kind: 'compare', column: 'or', operator: '=', value: '' },
      ],
    ],
  ])('%s', (text, conditions) => {
    expect(parseFilter(text)).toEqual(conditions)
  })

  it.each([
    ['rating', /ends at position 7/],
    ['rating >=', /ends at position 10, where a value/],
    ["title = 'open", /unexpected "'" at position 9/],
    ['a = 1 or b = 2', /"or" at position 7, where "and" or the end/],
    ['a = 1; DROP TABLE x', /"DROP" at position 8/],
    ['1=1 --', /"--" at position 5/],
    ['a = (SELECT 1)', /"\(" at position 5, where a value/],
    ['a = "b"', /"b" at position 5, where a value/],
    ['a in ()', /"\)" at position 7/],
    ['a is 5', /"5" at position 6, where "null"/],
    ['a like b', /"like" at position 3, where an operator/],
    ["a'b' = 1", /"b" at position 2, where an operator/],
    ['a ! 1', /unexpected "!" at position 3/],
    [Array.from({ length: 21 }, (_, n) => `a = ${n}`).join(' and '), /more than 20 conditions/],
    [`a in (${Array.from({ length: 201 }, (_, n) => n).join(',')})`, /more than 200 values/],
  ])('rejects %s with the position', (text, message) => {
    const error = raisedBy(() => parseFilter(text))
    expect(error).toBeInstanceOf(VitrinaError)
    expect(error).toMatchObject({ code: 'REQUEST_INVALID', mistakes: [{ field: 'filter' }] })
    expect((error as Error).message).toMatch(message)
  })

  it('reads a hostile text in linear time', () => {
    const large = `a = '${"''".repeat(200_000)}`
    expect(raisedBy(() => parseFilter(large))).toBeInstanceOf(VitrinaError)
  })
})

function raisedBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return null
}
