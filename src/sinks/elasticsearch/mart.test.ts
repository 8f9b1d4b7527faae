import { beforeEach, describe, expect, it } from 'vitest'
import {
  batchId,
  elasticsearchKind,
  openTestSink,
  SearchLab,
  searchServer,
} from '../../../tests/support/elasticsearch.js'
import { readTable } from '../../config/settings.js'
import { RowBatch } from '../../sql/row-batch.js'
import { elasticsearch } from './index.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')

describe('a mart as an index', () => {
  beforeEach((context) => {
    if ('missing' in server) context.skip(server.missing)
  })

  const aSink = (name: string, columns: string[], options = {}) =>
    openTestSink({ url: lab.url, name, columns, options })

  it('R4.11 creates the index with strict mappings from the types of the query', async () => {
    const name = lab.name()
    const columns = [
      'id uuid',
      'title text',
      'n2 smallint',
      'n4 integer',
      'n8 bigint',
      'price numeric(10,2)',
      'total numeric(38,10)',
      'count numeric(18,0)',
      'avg numeric',
      'score real',
      'ok boolean',
      'day date',
      'at timestamp with time zone',
      'took interval',
      'body bytea',
      'facts jsonb',
      'tags text[]',
      'kind content.kind',
    ]
    const sink = await aSink(name, columns)
    expect(await sink.examine()).toMatchObject({ exists: false, errors: [] })
    await Promise.all([sink.prepare(), (await aSink(name, columns)).prepare()])
    await sink.prepare()
    const found = await lab.call<
      Record<string, { mappings: { dynamic: string; properties: Record<string, { type: string }> } }>
    >('GET', `/${name}/_mapping`)
    const { dynamic, properties } = found[name]!.mappings
    expect(dynamic).toBe('strict')
    expect(Object.fromEntries(Object.entries(properties).map(([field, { type }]) => [field, type]))).toEqual({
      id: 'keyword',
      title: 'text',
      n2: 'short',
      n4: 'integer',
      n8: 'long',
      price: 'double',
      total: 'double',
      count: 'long',
      avg: 'double',
      score: 'float',
      ok: 'boolean',
      day: 'date',
      at: 'date',
      took: 'keyword',
      body: 'binary',
      facts: 'object',
      tags: 'text',
      kind: 'keyword',
    })
  })

  it('adds the field of a new column, and leaves the others as they are', async () => {
    const name = lab.name()
    await (await aSink(name, ['id integer', 'title text'])).prepare()
    const wider = await aSink(name, ['id integer', 'title text', 'year smallint'])
    expect(await wider.examine()).toMatchObject({ exists: true, errors: [] })
    await wider.prepare()
    await wider.write(RowBatch.ofRows([['1', 'Dune', '2021']]), batchId())
    expect(await lab.source(name, '1')).toBe('{"id":1,"title":"Dune","year":2021}')
  })

  it('reports which columns an index cannot store, and which lose precision', async () => {
    const name = lab.name()
    const properties = {
      id: { type: 'integer' },
      title: { type: 'long' },
      facts: { type: 'keyword' },
      n: { type: 'float' },
    }
    await lab.call('PUT', `/${name}`, { mappings: { properties } })
    const sink = await aSink(name, ['id integer', 'title text', 'facts jsonb', 'n double precision'], {
      write_mode: 'index',
    })
    const { errors, warnings } = await sink.examine()
    expect(errors.map(({ code, field }) => [code, field])).toEqual([
      ['TARGET_MISMATCH', 'target_table'],
      ['TARGET_MISMATCH', 'target_table'],
    ])
    expect(errors[0]!.message).toContain(
      'Column "title" is text, which maps to "text" in Elasticsearch, but the field of the index is "long"',
    )
    expect(errors[1]!.message).toContain('"facts"')
    expect(warnings).toMatchObject([{ code: 'TYPE_DIFFERS', message: expect.stringContaining('"n"') }])
    await expect(sink.prepare()).rejects.toMatchObject({ code: 'TARGET_MISMATCH' })
  })

  it('reports what is rounded before it is written', async () => {
    const columns = [
      'id integer',
      'avg numeric',
      'facts jsonb',
      'price numeric(12,2)',
      'exact numeric(30,10)',
    ]
    const rounded = async (options: object) =>
      (await (await aSink(lab.name(), columns, options)).examine()).warnings.map(({ code, message }) => [
        code,
        /"(\w+)"/.exec(message)![1],
      ])
    expect(await rounded({})).toEqual([
      ['VALUE_ROUNDED', 'avg'],
      ['VALUE_ROUNDED', 'facts'],
    ])
    expect(await rounded({ write_mode: 'index' })).toEqual([])
  })

  it('refuses names that cannot be fields', async () => {
    const sink = await aSink(lab.name(), ['_id integer', 'a.b text', 'a text', '. text', 'x..y text'])
    const { errors } = await sink.examine()
    expect(errors.map(({ message }) => /"([^"]+)"/.exec(message)![1])).toEqual(['_id', 'a', '.', 'x..y'])
  })

  it('writes columns with dots in their names, and finds their fields again', async () => {
    const name = lab.name()
    const sink = await aSink(name, ['id integer', 'a.b text', 'a.c.d integer'])
    await sink.prepare()
    await sink.prepare()
    expect(await sink.write(RowBatch.ofRows([['1', 'x', '2']]), batchId())).toMatchObject({ inserted: 1 })
    expect((await sink.examine()).errors).toEqual([])
    expect(await lab.source(name, '1')).toBe('{"id":1,"a.b":"x","a.c.d":2}')
    expect(await sink.summary('a.c.d')).toEqual({ count: 1, min: '2', max: '2' })
  })

  it('refreshes a new index rarely until its first run is complete, and at the usual interval afterwards', async () => {
    const name = lab.name()
    const state = async () => {
      const found = await lab.call<
        Record<string, { settings: Record<string, string>; mappings: { _meta: object } }>
      >('GET', `/${name}?flat_settings=true`)
      const { settings, mappings } = found[name]!
      return [settings['index.refresh_interval'], mappings._meta]
    }
    const sink = await aSink(name, ['id integer'])
    await sink.prepare()
    await sink.write(RowBatch.ofRows([['1']]), batchId())
    expect(await state()).toEqual(['30s', { vitrina: { mart: name, loading: true } }])
    // A run that died is followed by another one, which did not create the index.
    await (await aSink(name, ['id integer'])).publish([], batchId(2))
    expect(await state()).toEqual([undefined, { vitrina: { mart: name } }])
    await lab.call('PUT', `/${name}/_settings`, { index: { refresh_interval: '5s' } })
    await sink.publish([], batchId(3))
    expect(await state()).toEqual(['5s', { vitrina: { mart: name } }])
  })

  it('refuses an alias of several indexes', async () => {
    const name = lab.name()
    await lab.call('PUT', `/${name}-1`, { aliases: { [name]: {} } })
    await lab.call('PUT', `/${name}-2`, { aliases: { [name]: {} } })
    await expect((await aSink(name, ['id integer'])).examine()).rejects.toMatchObject({
      code: 'TARGET_MISMATCH',
      message: expect.stringContaining('an alias of 2 indexes'),
    })
  })

  it('reports its address and version', async () => {
    const kind = elasticsearchKind(lab.url)
    expect(kind.address).toBe(new URL(lab.url).host)
    expect(await kind.version?.(AbortSignal.timeout(20_000))).toMatch(/^\d+\.\d+/)
  })

  it('pings', async () => {
    expect(await elasticsearchKind(lab.url).ping(AbortSignal.timeout(20_000))).toMatch(
      /^cluster \S+ responds at 127/,
    )
  })
})

describe('without a server', () => {
  const kind = elasticsearch.create(readTable(elasticsearch.settings, {}))

  it('R4.12 takes the prefix of targets and the allowed ones from the configuration', () => {
    expect(kind).toMatchObject({
      prefix: 'es:',
      allowList: { setting: 'ALLOWED_ES_INDEXES', names: ['film_dim', 'film_rating_agg', 'genre_dim'] },
    })
    const other = elasticsearch.create(
      readTable(elasticsearch.settings, { ES_TARGET_PREFIX: 'search/', ALLOWED_ES_INDEXES: 'a, b*' }),
    )
    expect(other).toMatchObject({ prefix: 'search/', allowList: { names: ['a', 'b*'] } })
  })

  it('reports that ELASTICSEARCH_URL is missing', async () => {
    expect(await kind.missing()).toMatchObject({ message: expect.stringContaining('ELASTICSEARCH_URL') })
    expect(await elasticsearchKind('http://localhost:9200').missing()).toBeNull()
  })

  it('does not repeat an address that cannot be used: it may hold a password', () => {
    for (const url of [
      'ann:s3cret@es:9200',
      'http://ann:s3cret@es:99999999',
      'http://a,https://ann:s3cret@b',
    ])
      expect(() => elasticsearchKind(url)).toThrowError(/^ELASTICSEARCH_URL must be(?!.*s3cret)/)
  })

  it('applies the rules for names of indexes', () => {
    for (const name of ['film_dim', 'a.b-c+1', 'фильмы', 'x'.repeat(200)])
      expect(kind.nameProblem(name)).toBeNull()
    for (const name of [
      '',
      'Films',
      'a b',
      'a/b',
      'a*',
      'a,b',
      'a#b',
      'a:b',
      '-a',
      '_a',
      '+a',
      '.',
      '..',
      '.a',
      'x'.repeat(201),
    ])
      expect(kind.nameProblem(name), name).not.toBeNull()
  })

  it('reads options, and reports what is wrong with each', () => {
    expect(kind.readOptions({})).toEqual({ options: { write_mode: 'update' } })
    expect(kind.readOptions({ write_mode: 'index', replicas: 0 })).toEqual({
      options: { write_mode: 'index', replicas: 0 },
    })
    expect(kind.readOptions({ write_mode: 'insert', shards: 0, mode: 1 })).toMatchObject({
      problems: [{ field: 'write_mode' }, { field: 'shards' }, { field: 'mode' }],
    })
  })
})
