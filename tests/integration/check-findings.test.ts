import { describe, expect, it } from 'vitest'
import { findingText } from '../../console/src/components/data-checks/finding.js'
import { type Check, failureText } from '../../src/model/check.js'

const ROWS: Check[] = [
  { name: 'a', type: 'not_null', columns: ['title', 'rating'], on_failure: 'fail' },
  { name: 'b', type: 'unique', column: 'title', on_failure: 'fail' },
  { name: 'bb', type: 'unique', columns: ['title', 'kind'], on_failure: 'fail' },
  { name: 'c', type: 'accepted_values', column: 'kind', values: ['a', 1, true], on_failure: 'fail' },
  {
    ...{ name: 'd', type: 'accepted_values', column: 'kind', on_failure: 'fail' },
    values: Array.from({ length: 12 }, (_, n) => n),
  } as Check,
  { name: 'e', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'warn' },
  { name: 'f', type: 'range', column: 'rating', max: 10, on_failure: 'warn' },
  { name: 'g', type: 'relationship', column: 'id', to: 'content.film', on_failure: 'warn' },
  { name: 'h', type: 'relationship', column: 'id', to: 'content.film', to_column: 'x', on_failure: 'warn' },
  { name: 'i', type: 'expression', sql: "title <> ''", on_failure: 'quarantine' },
]
const CYRILLIC = /[а-яё]/i

describe('What a check found', () => {
  it.each(ROWS.map((definition) => [definition.type, definition] as const))(
    'is shown in the language of the console: %s',
    (_type, definition) => {
      const finding = { definition, message: failureText(definition), observed: null }
      expect(findingText(finding, 'en')).toBe(finding.message)
      expect(findingText(finding, 'ru')).toMatch(CYRILLIC)
    },
  )

  it('names several columns together', () => {
    expect(ROWS.slice(0, 3).map(failureText)).toEqual([
      'title or rating is NULL.',
      'title occurs more than once.',
      '(title, kind) occurs more than once.',
    ])
  })

  const count = (fields: object) =>
    ({ name: 'rows', type: 'row_count', on_failure: 'warn', ...fields }) as Check
  it.each([
    [count({ min: 100 }), 'The mart has 40 rows, fewer than 100.', 'меньше допустимых 100'],
    [count({ max: 30 }), 'The mart has 40 rows, more than 30.', 'больше допустимых 30'],
    [
      count({ usual: 20 }),
      'The mart has 40 rows, outside 80.5 ± 20 % (80.5 is the median of the last 4 results).',
      'обычно 80.5',
    ],
  ])('includes what was observed: %o', (definition, message, words) => {
    expect(findingText({ definition, message, observed: 40 }, 'ru')).toContain(words)
  })

  it('includes the age of the newest value', () => {
    const definition: Check = {
      ...{ name: 'fresh', type: 'freshness', column: 'at', max_age: '1h', on_failure: 'warn' },
    }
    const text = (message: string) => findingText({ definition, message, observed: 5000 }, 'ru')
    expect(text('The newest value of at is 2026-01-01 00:00:00+00, 5000 s old; the limit is 1h.')).toContain(
      '2026-01-01 00:00:00+00, его возраст 5000 с; допустимо 1h',
    )
    expect(text('The mart has no row with a value of at.')).toContain('нет строки')
  })

  it('is the message of the server if the check was changed since, or could not be evaluated', () => {
    const [definition] = ROWS as [Check]
    for (const message of ['other is NULL.', 'division by zero.'])
      expect(findingText({ definition, message, observed: null }, 'ru')).toBe(message)
  })
})
