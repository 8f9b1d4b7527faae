import { beforeEach, expect, it } from 'vitest'
import { batchId, openTestSink, SearchLab, searchServer } from '../../../tests/support/elasticsearch.js'
import { FaultProxy } from '../../../tests/support/fault-proxy.js'
import type { Replacement, Sink } from '../../ports/sink.js'
import { RowBatch } from '../../sql/row-batch.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
beforeEach((context) => {
  if ('missing' in server) context.skip(server.missing)
})

async function aSink(name: string, options: Partial<Parameters<typeof openTestSink>[0]> = {}): Promise<Sink> {
  return openTestSink({
    url: lab.url,
    name,
    columns: ['id integer', 'title text'],
    replaces: true,
    ...options,
  })
}

const rows = (from: number, to: number, title = 'film') =>
  RowBatch.ofRows(Array.from({ length: to - from }, (_, at) => [String(from + at), title]))

const whole = (count: number) => ({ rows: count, rewritten: 0, marks: [] })

async function replace(sink: Sink, runId: string, count: number, title?: string) {
  const replacement = await sink.replacement(runId)
  await replacement.write(rows(0, count, title), batchId())
  return replacement.publish(batchId(2), whole(count))
}

const indexesOf = async (name: string) =>
  Object.keys(await lab.call<Record<string, unknown>>('GET', `/${name},${name}-*?ignore_unavailable=true`))

it('R4.3 publishes a new mart at once: readers see the old one until then', async () => {
  const name = lab.name()
  const sink = await aSink(name)
  await replace(sink, 'run 1', 100, 'old')
  const replacement = await sink.replacement('run 2')
  await replacement.write(rows(0, 90, 'new'), batchId())
  expect(await lab.count(name)).toBe(100)
  expect(await lab.source(name, '1')).toContain('old')
  expect(await replacement.publish(batchId(2), whole(90))).toEqual({ deleted: 10 })
  expect(await lab.count(name)).toBe(90)
  expect(await lab.source(name, '1')).toContain('new')
  expect(await indexesOf(name)).toHaveLength(1)
})

it('takes the place of an index that was written by upsert, and is written by upsert afterwards', async () => {
  const name = lab.name()
  const upserting = await aSink(name, { replaces: false })
  await upserting.prepare()
  await upserting.write(rows(0, 10, 'old'), batchId())
  await upserting.publish([], batchId())
  const replacing = await aSink(name)
  await replace(replacing, 'run', 8, 'new')
  expect(await indexesOf(name)).toEqual([expect.stringMatching(`^${name}-`)])
  const again = await aSink(name, { replaces: false })
  expect((await again.examine()).errors).toEqual([])
  await again.prepare()
  expect(await again.write(rows(8, 9), batchId(1, 2))).toMatchObject({ inserted: 1 })
  expect(await lab.count(name)).toBe(9)
})

it('rebuilds a mart whose types have changed, which an upsert may not', async () => {
  const name = lab.name()
  await replace(await aSink(name), 'run 1', 5)
  const columns = ['id integer', 'title bigint']
  const upserting = await aSink(name, { columns, replaces: false })
  expect((await upserting.examine()).errors).toMatchObject([{ code: 'TARGET_MISMATCH' }])
  await expect(upserting.prepare()).rejects.toMatchObject({ code: 'TARGET_MISMATCH' })
  const sink = await aSink(name, { columns })
  expect((await sink.examine()).errors).toEqual([])
  await sink.prepare()
  await replace(sink, 'run 2', 5, '7')
  expect(await lab.source(name, '1')).toBe('{"id":1,"title":7}')
})

it('resumes with what the run built, and removes what another run left', async () => {
  const name = lab.name()
  const sink = await aSink(name)
  const first = await sink.replacement('run 1')
  await first.write(rows(0, 10), batchId())
  const resumed = await (await aSink(name)).replacement('run 1')
  await resumed.write(rows(5, 20), batchId(2, 2))
  const abandoned = await indexesOf(name)
  expect(abandoned).toHaveLength(1)
  const other = await (await aSink(name)).replacement('run 2')
  await other.write(rows(0, 3), batchId(1, 3))
  expect(await indexesOf(name)).toHaveLength(1)
  // The holder that lost the pipeline cannot show its half of a mart.
  await expect(resumed.write(rows(20, 30), batchId(3, 2))).rejects.toMatchObject({ code: 'SINK_GONE' })
  await expect(resumed.publish(batchId(4, 2), whole(20))).rejects.toMatchObject({ code: 'SINK_GONE' })
  expect(await other.publish(batchId(2, 3), whole(3))).toEqual({ deleted: 0 })
  expect(await lab.count(name)).toBe(3)
})

it('can be published again when the process died after the swap', async () => {
  const name = lab.name()
  const sink = await aSink(name)
  await replace(sink, 'run 1', 4)
  const again: Replacement = await (await aSink(name)).replacement('run 1')
  expect(await again.publish(batchId(2, 2), whole(4))).toEqual({ deleted: 0 })
  expect(await lab.count(name)).toBe(4)
})

it('leaves the old mart in place when documents are missing, or the brake would be exceeded', async () => {
  const name = lab.name()
  const sink = await aSink(name, { brake: 0.1 })
  await replace(sink, 'run 1', 100, 'old')
  const missing = await sink.replacement('run 2')
  await missing.write(rows(0, 99), batchId())
  await expect(missing.publish(batchId(2), whole(100))).rejects.toMatchObject({ code: 'SINK_GONE' })
  await expect(missing.publish(batchId(2), whole(98))).rejects.toMatchObject({ code: 'SINK_GONE' })
  const small = await sink.replacement('run 3')
  await small.write(rows(0, 89), batchId())
  await expect(small.publish(batchId(2), whole(89))).rejects.toMatchObject({ code: 'BRAKE' })
  expect(await lab.count(name)).toBe(100)
  expect(await lab.source(name, '1')).toContain('old')
})

it('is published although the old index cannot be removed; the next run removes it', async () => {
  const name = lab.name()
  const proxy = await FaultProxy.before(lab.url)
  const sink = await aSink(name, { url: proxy.url })
  await replace(sink, 'run 1', 5)
  proxy.fault = ({ method, path }) =>
    method === 'DELETE' && path.startsWith(`/${name}`) ? { kind: 'answer', status: 403 } : null
  expect(await replace(sink, 'run 2', 6)).toEqual({ deleted: 0 })
  expect(await lab.count(name)).toBe(6)
  expect(await indexesOf(name)).toHaveLength(2)
  proxy.fault = () => null
  await replace(sink, 'run 3', 7)
  expect(await indexesOf(name)).toHaveLength(1)
})

it('gives the new index the settings of one that is read', async () => {
  const name = lab.name()
  await replace(await aSink(name, { options: { replicas: 0, shards: 2 } }), 'run', 3)
  const found = await lab.call<Record<string, { settings: Record<string, string> }>>(
    'GET',
    `/${name}?flat_settings=true`,
  )
  const { settings } = Object.values(found)[0]!
  expect(settings['index.refresh_interval']).toBeUndefined()
  expect(settings['index.number_of_replicas']).toBe('0')
  expect(settings['index.number_of_shards']).toBe('2')
})
