import { expect } from 'vitest'
import { sampleOf } from './sample.js'

const HUGE = 10 ** 30
/** Unexpected values of a field. */
const VALUES: unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    HUGE,
    -HUGE,
    2 ** 31,
    2 ** 53,
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udfffb',
  ],
  ...[
    'x'.repeat(100_000),
    "'; DROP TABLE etl.etl_pipelines; --",
    '../../etc/passwd',
    '9'.repeat(400),
    '-1',
    'NaN',
    'null',
  ],
  ...[
    '* * * * * * * *',
    '0 0 31 2 *',
    '99999-1 * * * *',
    'P99999999999999999999D',
    '1e400',
    '2024-02-30T99:99:99Z',
    '+275760-09-13T00:00:00Z',
    '0000-00-00T00:00:00Z',
  ],
  ...[
    [],
    [[]],
    [null],
    ['\u0000'],
    {},
    { a: 1 },
    { constructor: 1 },
    { toString: 'x' },
    [{}],
    [{ task_type: 'SQL' }],
    [1, 'a', null],
  ],
]

/** Every field with every value; in `npm test` each field and each value at least once. */
export function fieldsWithValues(place: string, fields: readonly string[]): readonly [string, unknown][] {
  const all = fields.flatMap((field) => VALUES.map((value, n) => ({ field, value, n })))
  const sample = sampleOf(all, {
    key: ({ field, n }) => `${place} ${field} ${n}`,
    labels: ({ field, n }) => [field, String(n)],
  })
  return sample.map(({ field, value }) => [field, value])
}

/** Almost valid JSON bodies. */
export const JSON_SHAPES = [
  '',
  'null',
  '[]',
  '"text"',
  '1',
  '{',
  '{"a":1}}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":1}}',
  '[{}]',
  '{"a":',
  '\ufeff{}',
  '{"a":"\\ud800"}',
  '{"\\u0000":1}',
  '1e999',
  '[1,2',
  'nul',
]

export const QUERIES = [
  ...[
    'limit=-1',
    'limit=0',
    'limit=1e9',
    'limit=99999999999',
    'limit=',
    'limit=1&limit=2',
    'limit[]=1',
    'limit=%00',
    'limit=1.5',
  ],
  ...[
    'cursor=',
    'cursor=x',
    'cursor=%00',
    'cursor=W10',
    'cursor=WyJhIl0',
    'cursor=WyJhIiwiYiJd',
    'cursor=WyItMSJd',
    'cursor=Wzk5OV0',
    'cursor=WyI5OTk5OTk5OTk5OTk5OTk5OTk5OTkiXQ',
  ],
  ...[
    'status=NONE',
    'status=IDLE&status=IDLE',
    'enabled=maybe',
    'q=%00',
    'q=%ED%A0%80',
    'q=%',
    'pipeline_id=x',
    'action=%00',
    'target_id=%00',
    '__proto__=1',
    'a[b][c]=1',
    '&&&=',
    '%%%',
  ],
]
/** Values in a path where an id belongs. */
export const IDS = [
  '%00',
  '%ED%A0%80',
  '%',
  '..%2f..',
  'a'.repeat(5000),
  '%F0%9F%92%A9',
  "'%20OR%201=1",
  '-1',
  `${'0'.repeat(8)}-0000-0000-0000-000000000000`,
  '{',
  '%0d%0aX:%201',
]
export function expectAnswered(answer: { statusCode: number; body: string }, what: string): void {
  expect(answer.statusCode, `${what}: ${answer.body.slice(0, 500)}`).toBeLessThan(500)
}
