import { beforeEach, describe, expect, inject, it } from 'vitest'
import { batchId, openTestSink, SearchLab, searchServer } from '../../../tests/support/elasticsearch.js'
import { withClient } from '../../../tests/support/server.js'
import { RowBatch } from '../../sql/row-batch.js'
import { parseExact } from './exact-json.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
beforeEach((context) => {
  if ('missing' in server) context.skip(server.missing)
})

/** Values as PostgreSQL writes them to a session of ours. */
async function texts(expressions: readonly string[]): Promise<(string | null)[]> {
  return withClient(inject('server').url, async (client) => {
    await client.query(
      "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'; SET IntervalStyle = 'postgres'",
    )
    const { rows } = await client.query<(string | null)[]>({
      text: `SELECT ${expressions.join(', ')}`,
      rowMode: 'array',
      types: { getTypeParser: () => (value: string) => value } as never,
    })
    return rows[0]!
  })
}

interface Case {
  readonly type: string
  readonly value: string
  /** As the document holds it, text for text; two of them when merging rewrites numbers. */
  readonly json: string
  readonly merged?: string
}

const CASES: readonly Case[] = [
  { type: 'boolean', value: 'true', json: 'true' },
  { type: 'smallint', value: '-32768', json: '-32768' },
  { type: 'bigint', value: '9223372036854775807', json: '9223372036854775807' },
  { type: 'bigint', value: '-9007199254740993', json: '-9007199254740993' },
  { type: 'numeric(10,2)', value: '1.50', json: '1.50', merged: '1.5' },
  { type: 'numeric(15,0)', value: '999999999999999', json: '999999999999999' },
  { type: 'numeric(30,0)', value: '123456789012345678901234567890', json: '123456789012345678901234567890' },
  {
    type: 'numeric(38,10)',
    value: '1234567890123456789012345678.0123456789',
    json: '"1234567890123456789012345678.0123456789"',
  },
  { type: 'numeric', value: '7.25', json: '7.25' },
  { type: 'numeric', value: '7.3333333333333333', json: '7.3333333333333333', merged: '7.333333333333333' },
  { type: 'real', value: '0.1', json: '0.1' },
  { type: 'double precision', value: '0.1', json: '0.1' },
  {
    type: 'double precision',
    value: '1.7976931348623157e308',
    json: '1.7976931348623157e+308',
    merged: '1.7976931348623157E308',
  },
  {
    type: 'text',
    value: 'a "quoted" \\ line\nand\ttab \u000b \u0001 é 日本 😀',
    json: JSON.stringify('a "quoted" \\ line\nand\ttab \u000b \u0001 é 日本 😀'),
  },
  { type: 'text', value: '', json: '""' },
  { type: 'text', value: '\\N', json: '"\\\\N"' },
  { type: 'character(5)', value: 'ab', json: '"ab   "' },
  {
    type: 'uuid',
    value: 'AAAAAAAA-0000-4000-8000-000000000001',
    json: '"aaaaaaaa-0000-4000-8000-000000000001"',
  },
  { type: 'date', value: '0044-03-15', json: '"0044-03-15"' },
  {
    type: 'timestamp without time zone',
    value: '2024-02-29 23:59:59.123456',
    json: '"2024-02-29T23:59:59.123456"',
  },
  { type: 'timestamp without time zone', value: '1970-01-01 00:00:00', json: '"1970-01-01T00:00:00"' },
  { type: 'timestamp with time zone', value: '2024-02-29 23:59:59.1+03', json: '"2024-02-29T20:59:59.1Z"' },
  {
    type: 'timestamp with time zone',
    value: '9999-12-31 23:59:59.999999+00',
    json: '"9999-12-31T23:59:59.999999Z"',
  },
  { type: 'time without time zone', value: '24:00:00', json: '"24:00:00"' },
  { type: 'interval', value: '1 year 2 days 03:04:05.000006', json: '"1 year 2 days 03:04:05.000006"' },
  { type: 'bytea', value: '\\x00ff5c6e', json: '"AP9cbg=="' },
  {
    type: 'json',
    value: '{ "b":\n 1,\t"a": [1.50, "\\n"]}',
    json: '{ "b":  1,\t"a": [1.50, "\\n"]}',
    merged: '{"b":1,"a":[1.5,"\\n"]}',
  },
  {
    type: 'jsonb',
    value: '{"n": 123456789012345678901234567890, "s": "é"}',
    json: '{"n": 123456789012345678901234567890, "s": "é"}',
    merged: '{"n":123456789012345678901234567890,"s":"é"}',
  },
  { type: 'jsonb', value: '"text"', json: '"text"' },
  { type: 'jsonb', value: 'null', json: 'null' },
  { type: 'jsonb', value: '[[1], {}]', json: '[[1], {}]', merged: '[[1],{}]' },
  { type: 'int4range', value: '[1,5)', json: '"[1,5)"' },
  { type: 'inet', value: '10.0.0.1/8', json: '"10.0.0.1/8"' },
  { type: 'integer[]', value: '{1,NULL,3}', json: '[1,null,3]' },
  { type: 'integer[]', value: '{{1,2},{3,4}}', json: '[[1,2],[3,4]]' },
  { type: 'text[]', value: '{"a,b","q\\"u","NULL",NULL,""}', json: '["a,b","q\\"u","NULL",null,""]' },
  {
    type: 'timestamp with time zone[]',
    value: '{"2024-01-01 00:00:00.000001+00"}',
    json: '["2024-01-01T00:00:00.000001Z"]',
  },
  { type: 'bytea[]', value: '{"\\\\x00ff"}', json: '["AP8="]' },
  { type: 'boolean[]', value: '{t,f}', json: '[true,false]' },
  { type: 'numeric(38,20)[]', value: '{0.12345678901234567891}', json: '["0.12345678901234567891"]' },
  { type: 'jsonb[]', value: '{"{\\"a\\": 1}"}', json: '[{"a": 1}]', merged: '[{"a":1}]' },
]

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`

for (const write_mode of ['update', 'index'] as const) {
  it(`values arrive as they left, by the contract of types, in write_mode ${write_mode}`, async () => {
    const name = lab.name()
    const columns = ['id integer', ...CASES.map(({ type }, index) => `c${index} ${type}`)]
    const sink = await openTestSink({ url: lab.url, name, columns, options: { write_mode } })
    await sink.prepare()
    const row = ['1', ...(await texts(CASES.map(({ type, value }) => `${quoted(value)}::${type}`)))]
    const nulls = ['2', ...CASES.map(() => null)]
    expect((await sink.write(RowBatch.ofRows([row, nulls]), batchId())).refused).toEqual([])
    const source = (await lab.source(name, '1'))!
    const wanted = CASES.map(
      ({ json, merged }, index) => `"c${index}":${write_mode === 'index' ? json : (merged ?? json)}`,
    )
    // Text for text where numbers are concerned; characters may be escaped or not.
    expect(parseExact(source)).toEqual(parseExact(`{"id":1,${wanted.join(',')}}`))
    const digests = new Map<string | null, string>()
    for await (const portion of sink.digests())
      for (const { key, digest } of portion) digests.set(key[0]!, digest)
    expect(digests).toEqual(new Map([row, nulls].map((one) => [one[0]!, sink.digestOf(one).digest])))
  })
}

describe('a value that a document cannot hold is rejected with the reason', () => {
  const UNFIT = [
    ['double precision', 'NaN'],
    ['real', 'Infinity'],
    ['numeric', 'NaN'],
    ['numeric', '-Infinity'],
    ['timestamp with time zone', 'infinity'],
    ['timestamp without time zone', '10000-01-01'],
    ['date', '-infinity'],
    ['date', '0044-03-15 BC'],
    ['double precision[]', '{1,NaN}'],
    ['json', '{"a": 1e400}'],
    ['json', '{"a": 1, "a": 2}'],
    ['json', `${'['.repeat(1200)}${']'.repeat(1200)}`],
    ['numeric', `1${'0'.repeat(400)}.5`],
    ['numeric', `1${'0'.repeat(1500)}`],
  ] as const
  for (const [type, value] of UNFIT) {
    it(`${type} ${value.slice(0, 20)}`, async () => {
      const name = lab.name()
      const sink = await openTestSink({ url: lab.url, name, columns: ['id integer', `v ${type}`] })
      await sink.prepare()
      const [text] = await texts([`${quoted(value)}::${type}`])
      const { inserted, refused } = await sink.write(
        RowBatch.ofRows([
          ['1', text!],
          ['2', null],
        ]),
        batchId(),
      )
      expect({ inserted, rows: refused.map(({ row }) => row) }).toEqual({ inserted: 1, rows: [0] })
      expect(refused[0]!.reason).toMatch(/^v |[Dd]uplicate|supports only finite values|exceeds the maximum/)
    })
  }
})

it('texts of any length are stored, and only short ones are searchable as a whole', async () => {
  const name = lab.name()
  const sink = await openTestSink({ url: lab.url, name, columns: ['id integer', 'body text', 'kind xml'] })
  await sink.prepare()
  const long = '日'.repeat(40_000)
  expect((await sink.write(RowBatch.ofRows([['1', long, long]]), batchId())).refused).toEqual([])
  expect(JSON.parse((await lab.source(name, '1'))!)).toEqual({ id: 1, body: long, kind: long })
})

it('keys of every shape are found again in their digests', async () => {
  const name = lab.name()
  const sink = await openTestSink({
    url: lab.url,
    name,
    columns: ['a text', 'b timestamp with time zone', 'n numeric(38,10)', 'v integer'],
    key: ['a', 'b', 'n'],
  })
  await sink.prepare()
  const at = '2024-01-01 00:00:00.000001+00'
  const rows = ['', '~', '|', '~|', 'x'.repeat(600), 'é'.repeat(300)].map((a, v) => [
    a,
    at,
    '1.5000000000',
    String(v),
  ])
  expect(await sink.write(RowBatch.ofRows(rows), batchId())).toMatchObject({ inserted: rows.length })
  const keys: (readonly (string | null)[])[] = []
  for await (const portion of sink.digests()) for (const { key } of portion) keys.push(key)
  expect(keys.sort()).toEqual(rows.map((row) => row.slice(0, 3)).sort())
  expect(await sink.remove(keys, batchId(2))).toMatchObject({ deleted: rows.length })
})
