import { beforeEach, describe, expect, it } from 'vitest'
import { batchId, openTestSink, SearchLab, searchServer } from '../../../tests/support/elasticsearch.js'
import type { Sink } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import { RowBatch } from '../../sql/row-batch.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
beforeEach((context) => {
  if ('missing' in server) context.skip(server.missing)
})

const COLUMNS = ['id uuid', 'title text', 'seen bigint'] as const
const A = 'aaaaaaaa-0000-4000-8000-000000000001'
const B = 'bbbbbbbb-0000-4000-8000-000000000002'
const C = 'cccccccc-0000-4000-8000-000000000003'

async function aSink(options: Partial<Parameters<typeof openTestSink>[0]> = {}) {
  const name = options.name ?? lab.name()
  const sink = await openTestSink({ url: lab.url, columns: COLUMNS, ...options, name })
  return { name, sink }
}

async function aMart(options: Partial<Parameters<typeof openTestSink>[0]> = {}) {
  const made = await aSink(options)
  await made.sink.prepare()
  return made
}

const write = (sink: Sink, rows: TextValues[], number = 1, fence = 1) =>
  sink.write(RowBatch.ofRows(rows), batchId(number, fence))

const all = async <T>(portions: AsyncIterable<readonly T[]>): Promise<T[]> => {
  const found: T[] = []
  for await (const portion of portions) found.push(...portion)
  return found
}

for (const write_mode of ['update', 'index'] as const) {
  describe(`R4.11 in write_mode ${write_mode}`, () => {
    const options = { write_mode }

    it('writes a document for each row, and the same batch again changes nothing', async () => {
      const { sink, name } = await aMart({ options })
      const rows = [
        [A, 'Dune', '9007199254740993'],
        [B, 'Solaris', null],
      ]
      expect(await write(sink, rows)).toMatchObject({ inserted: 2, updated: 0, unchanged: 0, refused: [] })
      const before = await lab.source(name, A)
      const again = await write(sink, rows)
      expect(again.inserted).toBe(0)
      expect(again.updated + again.unchanged).toBe(2)
      expect(before).toBe(`{"id":"${A}","title":"Dune","seen":9007199254740993}`)
      expect(await lab.source(name, A)).toBe(before)
      expect(await lab.count(name)).toBe(2)
    })

    it('writes NULL as an explicit null, so that no old value stays', async () => {
      const { sink, name } = await aMart({ options })
      await write(sink, [[A, 'Dune', '1']])
      await write(sink, [[A, null, '1']], 2)
      expect(await lab.source(name, A)).toBe(`{"id":"${A}","title":null,"seen":1}`)
    })

    it('keeps the last row of a key within a batch, and counts the others', async () => {
      const { sink, name } = await aMart({ options })
      const rows = [
        [A, 'first', '1'],
        [B, 'other', '2'],
        [A, 'last', '3'],
      ]
      expect(await write(sink, rows)).toMatchObject({ inserted: 2, duplicates: 1 })
      expect(await lab.source(name, A)).toContain('"last"')
    })

    it('removes fields of an object that the row no longer has', async () => {
      const { sink, name } = await aMart({ options, columns: ['id integer', 'facts jsonb'] })
      await write(sink, [
        ['1', '{"a": 1, "b": {"c": 1, "d": 2}}'],
        ['2', '{"a": 1, "b": 2}'],
        ['3', '[{"a": 1}]'],
      ])
      const next = [
        ['1', '{"b": {"d": 2}}'],
        ['2', '{"a": 1}'],
        ['3', '{"b": 12345678901234567890123}'],
      ]
      await write(sink, next, 2)
      expect(JSON.parse((await lab.source(name, '1'))!).facts).toEqual({ b: { d: 2 } })
      expect(JSON.parse((await lab.source(name, '2'))!).facts).toEqual({ a: 1 })
      expect(await lab.source(name, '3')).toMatch(/"facts":\{"b": ?12345678901234567890123\}/)
    })

    it('rejects a row with a NULL key or a value that JSON cannot represent, and writes the others', async () => {
      const { sink, name } = await aMart({ options, columns: ['id integer', 'score double precision'] })
      const rows = [
        ['1', '0.5'],
        [null, '1'],
        ['3', 'NaN'],
        ['4', '-Infinity'],
        ['5', '-0'],
      ]
      const { inserted, refused } = await write(sink, rows)
      expect(inserted).toBe(2)
      expect(refused.map(({ row }) => row)).toEqual([1, 2, 3])
      expect(refused[0]!.reason).toContain('id is NULL')
      expect(refused[1]!.reason).toContain('score is NaN')
      expect(await lab.ids(name)).toEqual(['1', '5'])
    })

    it('returns each row that the server rejects, with the reason', async () => {
      const { sink, name } = await aSink({ options, columns: ['id integer', 'code text'] })
      await lab.call('PUT', `/${name}`, { mappings: { properties: { code: { type: 'ip' } } } })
      await sink.prepare()
      const { inserted, refused } = await write(sink, [
        ['1', '10.0.0.1'],
        ['2', 'no address'],
        ['3', '::1'],
      ])
      expect(inserted).toBe(2)
      expect(refused).toHaveLength(1)
      expect(refused[0]).toMatchObject({ row: 1 })
      expect(refused[0]!.reason).toMatch(/code.*'no address' is not an IP string literal/)
    })

    it('removes documents by key, and ignores those that do not exist', async () => {
      const { sink, name } = await aMart({ options, key: ['id', 'title'] })
      await write(sink, [
        [A, 'x|y', '1'],
        [A, 'x', '2'],
        [B, '', '3'],
      ])
      const keys = [
        [A, 'x|y'],
        [B, ''],
        [C, 'never'],
      ]
      expect(await sink.remove(keys, batchId(2))).toMatchObject({ deleted: 2 })
      expect(await lab.ids(name)).toEqual([`${A}|x`])
    })

    it('removes documents whose key is missing, unless that exceeds the brake', async () => {
      const { sink, name } = await aMart({ options, brake: 0.5 })
      await write(sink, [
        [A, 'a', '1'],
        [B, 'b', '2'],
        [C, 'c', '3'],
      ])
      const keys = async function* (...kept: string[]) {
        for (const id of kept) yield [[id]]
      }
      await expect(sink.removeAbsent(keys(A), batchId(2))).rejects.toMatchObject({ code: 'BRAKE' })
      expect(await lab.count(name)).toBe(3)
      expect(await sink.removeAbsent(keys(A, B), batchId(3))).toMatchObject({ deleted: 1 })
      expect(await lab.ids(name)).toEqual([A, B])
    })

    it('reports count, minimum, maximum, and digests that match the rows', async () => {
      const columns = [
        'id bigint',
        'at timestamp with time zone',
        'price numeric',
        'tags text[]',
        'facts jsonb',
      ]
      const { sink } = await aMart({ options, columns })
      const rows = [
        [
          '9223372036854775807',
          '2024-05-01 10:00:00.123456+00',
          '1.50',
          '{a,NULL,"b c"}',
          '{"z": 1.10, "a": [1e2, null]}',
        ],
        ['-1', '2024-05-01 10:00:00.123457+00', '7.3333333333333333', '{}', '7'],
        ['0', null, null, null, null],
      ]
      await write(sink, rows)
      await sink.publish([], batchId())
      const found = await all(sink.digests())
      const wanted = rows.map((row) => sink.digestOf(row))
      expect(new Map(found.map(({ key, digest }) => [key[0], digest]))).toEqual(
        new Map(wanted.map(({ key, digest }) => [key[0], digest])),
      )
      expect(sink.digestOf(['0', null, null, null, '1']).digest).not.toBe(wanted[2]!.digest)
      expect(await sink.summary('id')).toEqual({ count: 3, min: '-1', max: '9223372036854775807' })
      expect(await sink.summary('at')).toEqual({
        count: 3,
        min: '2024-05-01 10:00:00.123456+00',
        max: '2024-05-01 10:00:00.123457+00',
      })
      expect(await sink.summary('facts')).toEqual({ count: 3, min: null, max: null })
    })

    it('reports a deleted index, and does not create another one', async () => {
      const { sink, name } = await aMart({ options })
      await write(sink, [[A, 'a', '1']])
      await lab.call('DELETE', `/${name}`)
      await expect(write(sink, [[B, 'b', '1']], 2)).rejects.toMatchObject({ code: 'SINK_GONE' })
      await expect(sink.remove([[A]], batchId(3))).rejects.toMatchObject({ code: 'SINK_GONE' })
      expect(await lab.exists(name)).toBe(false)
      expect(await lab.exists(`${name}.vitrina`)).toBe(false)
      await sink.prepare()
      expect(await write(sink, [[B, 'b', '1']], 4)).toMatchObject({ inserted: 1 })
      const mapping = await lab.call<Record<string, { mappings: { dynamic: string } }>>(
        'GET',
        `/${name}/_mapping`,
      )
      expect(mapping[name]!.mappings.dynamic).toBe('strict')
    })

    it('reports a write block on the index, and continues when it is removed', async () => {
      const { sink, name } = await aMart({ options, environment: { ELASTICSEARCH_RETRY_SECONDS: '1' } })
      for (const block of ['index.blocks.write', 'index.blocks.read_only_allow_delete']) {
        await lab.call('PUT', `/${name}/_settings`, { [block]: true })
        await expect(write(sink, [[A, 'a', '1']])).rejects.toMatchObject({ code: 'SINK_BLOCKED' })
        await lab.call('PUT', `/${name}/_settings`, { [block]: null })
      }
      expect(await write(sink, [[A, 'a', '1']])).toMatchObject({ inserted: 1 })
    })
  })
}

it('keeps fields written by other clients in write_mode update, and none in write_mode index', async () => {
  for (const [write_mode, kept] of [
    ['update', 5],
    ['index', undefined],
  ] as const) {
    const { sink, name } = await aMart({ options: { write_mode } })
    await lab.call('PUT', `/${name}/_mapping`, { properties: { stars: { type: 'integer' } } })
    await lab.call('PUT', `/${name}/_doc/${A}`, { stars: 5, title: 'old' })
    await write(sink, [[A, 'new', '1']])
    const { stars, title } = JSON.parse((await lab.source(name, A))!)
    expect({ stars, title }).toEqual({ stars: kept, title: 'new' })
  }
})

it('does not allow a late batch to undo a later one in write_mode index', async () => {
  const { sink, name } = await aMart({ options: { write_mode: 'index' } })
  await write(
    sink,
    [
      [A, 'newer', '2'],
      [B, 'newer', '2'],
    ],
    1,
    8,
  )
  await sink.remove([[B]], batchId(2, 8))
  await expect(write(sink, [[A, 'older', '1']], 9, 7)).rejects.toMatchObject({ code: 'SINK_GONE' })
  await expect(write(sink, [[B, 'older', '1']], 1, 8)).rejects.toMatchObject({ code: 'SINK_GONE' })
  await expect(sink.remove([[A]], batchId(9, 7))).rejects.toMatchObject({ code: 'SINK_GONE' })
  expect(await lab.source(name, A)).toContain('newer')
  expect(await lab.source(name, B)).toBeNull()
})

it('writes a batch of many bulks completely, however small the bulks are', async () => {
  const environment = { ELASTICSEARCH_BULK_MIB: '1', ELASTICSEARCH_PARALLEL_BULKS: '4' }
  const { sink, name } = await aMart({ columns: ['id integer', 'body text'], environment })
  const rows = Array.from({ length: 3000 }, (_, id) => [String(id), 'é"\\\t'.repeat(200 + (id % 7) * 100)])
  rows.push(['huge', 'x'.repeat(3_000_000)])
  const { refused, inserted } = await write(
    sink,
    rows.map(([id, body]) => [id === 'huge' ? '-1' : id!, body!]),
  )
  expect({ refused, inserted }).toEqual({ refused: [], inserted: 3001 })
  expect(await lab.count(name)).toBe(3001)
  expect(JSON.parse((await lab.source(name, '2999'))!).body).toBe(rows[2999]![1])
})
