import { expect, it } from 'vitest'
import { anS3Mart, describeS3, runOnce, TestRun } from '../../../tests/support/s3-mart.js'
import type { RowDigest } from '../../ports/sink.js'
import { RowBatch } from '../../sql/row-batch.js'

const films = (from: number, to: number, mark = '') =>
  Array.from({ length: to - from + 1 }, (_, index) => [String(from + index), `film ${from + index}${mark}`])

await describeS3('The S3 sink', (s3) => {
  it('shows readers nothing of a run before it is published, and then all of it', async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    await sink.prepare()
    const run = new TestRun()
    await run.write(sink, films(1, 3))
    await run.write(sink, films(4, 5))
    expect(await mart.manifest()).toBeNull()
    await run.publish(sink)
    expect(await mart.read()).toEqual(films(1, 5))
  })

  it('shows all of the old run until the new one is published', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 3))
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.write(sink, films(2, 4, ' new'))
    await run.remove(sink, [['1']])
    expect(await mart.read()).toEqual(films(1, 3))
    await run.publish(sink)
    expect(await mart.read()).toEqual(films(2, 4, ' new'))
  })

  it('leaves the mart unchanged when the same batch is written twice', async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    const run = new TestRun()
    const first = await run.write(sink, films(1, 3))
    const again = await sink.write(RowBatch.ofRows(films(1, 3)), run.last())
    expect(again).toEqual(first)
    expect(await mart.objects()).toHaveLength(1)
    await run.publish(sink)
    expect(await mart.read()).toEqual(films(1, 3))
  })

  it('counts a batch that was written under two fences once', async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    const died = new TestRun(1)
    await died.write(sink, films(1, 3, ' old'))
    const run = new TestRun(2, died.id)
    run.marks.push(...died.marks)
    await run.write(sink, films(1, 3))
    await run.publish(sink)
    expect(await mart.read()).toEqual(films(1, 3))
    expect((await mart.manifest())!.rows).toBe(3)
  })

  it('keeps the later row: in a batch, across batches, across runs', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 4, ' first run'))
    const sink = await mart.open()
    const run = new TestRun(2)
    const { duplicates, inserted } = await run.write(sink, [
      ...films(1, 2, ' early'),
      ...films(1, 1, ' late'),
    ])
    expect({ duplicates, inserted }).toEqual({ duplicates: 1, inserted: 2 })
    await run.write(sink, films(2, 2, ' next batch'))
    await run.publish(sink)
    expect(await mart.read()).toEqual([
      ['1', 'film 1 late'],
      ['2', 'film 2 next batch'],
      ['3', 'film 3 first run'],
      ['4', 'film 4 first run'],
    ])
  })

  it('rewrites only files that hold a row that changed', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 3))
    await runOnce(mart, films(4, 6), new TestRun(2))
    const [first, second] = (await mart.manifest())!.files.map(({ path }) => path)
    await runOnce(mart, films(5, 5, ' new'), new TestRun(3))
    const paths = (await mart.manifest())!.files.map(({ path }) => path)
    expect(paths).toContain(first)
    expect(paths).not.toContain(second)
    expect(paths).toHaveLength(3)
    // A reader of the previous manifest still finds it.
    expect(await mart.objects()).toContain(second)
  })

  it('contains a row that was removed and written again in the same run', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 3))
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.remove(sink, [['1'], ['2'], ['99']])
    await run.write(sink, films(2, 2, ' again'))
    await run.publish(sink)
    expect(await mart.read()).toEqual([
      ['2', 'film 2 again'],
      ['3', 'film 3'],
    ])
  })

  it('publishes a run once, even if publish is called twice', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 3))
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.write(sink, films(3, 5, ' new'))
    await run.remove(sink, [['1']])
    await run.publish(sink)
    const before = await mart.manifest()
    // The runner died after the manifest and before its checkpoint: the next attempt has the same marks.
    await new TestRun(3, run.id).publish(await mart.open())
    await (await mart.open()).publish(run.marks, { ...run.last(), fence: 3 })
    expect(await mart.manifest()).toEqual(before)
  })

  it('leaves the same mart when published marks are passed again together with new ones', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 3))
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.write(sink, films(2, 5, ' second'))
    await run.remove(sink, [['1']])
    await run.publish(sink)
    await run.write(sink, films(5, 6, ' third'))
    await run.publish(sink)
    expect(await mart.read()).toEqual([...films(2, 4, ' second'), ...films(5, 6, ' third')])
  })

  it('does not allow a stale holder to publish, or to replace a file of its successor', async () => {
    const mart = anS3Mart(s3)
    const zombie = new TestRun(5)
    const stale = await mart.open()
    await zombie.write(stale, films(1, 2, ' stale'))
    await runOnce(mart, films(1, 3), new TestRun(6, zombie.id))
    await zombie.write(stale, films(1, 1, ' stale'))
    await expect(zombie.publish(stale)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await mart.read()).toEqual(films(1, 3))
  })

  it('keeps what two pipelines published at the same time into one mart', async () => {
    const mart = anS3Mart(s3)
    const other = '22222222-2222-4222-8222-222222222222'
    const sinks = [await mart.open(), await mart.open()]
    const runs = [new TestRun(1), new TestRun(1)]
    await runs[0]!.write(sinks[0]!, films(1, 2))
    await runs[1]!.write(sinks[1]!, films(3, 4))
    await Promise.all([
      runs[0]!.publish(sinks[0]!),
      sinks[1]!.publish(runs[1]!.marks, { ...runs[1]!.last(), pipelineId: other }),
    ])
    expect(await mart.read()).toEqual(films(1, 4))
  })

  it('rejects rows with a NULL key or a value that does not fit, and writes the others', async () => {
    const mart = anS3Mart(s3, {
      types: { id: 'bigint', at: 'timestamp without time zone', price: 'numeric(4,2)' },
    })
    const sink = await mart.open()
    const run = new TestRun()
    const { refused, inserted } = await run.write(sink, [
      ['1', '2024-01-02 03:04:05', '1.50'],
      [null, '2024-01-02 03:04:05', '1.50'],
      ['3', 'infinity', '1.50'],
      ['4', '2024-01-02 03:04:05', 'NaN'],
    ])
    expect(inserted).toBe(1)
    expect(refused).toEqual([
      { row: 1, reason: 'id: a key column is NULL' },
      { row: 2, reason: 'at: infinity is not a timestamp that Parquet can store' },
      { row: 3, reason: 'price: NaN does not fit into decimal(4,2)' },
    ])
    await run.publish(sink)
    expect(await mart.read('SELECT id::VARCHAR FROM mart')).toEqual([['1']])
  })

  it('publishes a mart without rows as one that can be read', async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    const run = new TestRun()
    await sink.publish([], run.batch())
    expect(await mart.read()).toEqual([])
    await runOnce(mart, films(1, 1), new TestRun(2))
    expect((await mart.manifest())!.files).toHaveLength(1)
    expect(await mart.read()).toEqual(films(1, 1))
  })

  it('reports count, bounds and digests as readers see them', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 12))
    const sink = await mart.open()
    await new TestRun(2).write(sink, films(13, 14))
    expect(await sink.summary('id')).toEqual({ count: 12, min: '1', max: '12' })
    expect(await sink.summary('title')).toEqual({ count: 12, min: 'film 1', max: 'film 9' })
    const digests: RowDigest[] = []
    for await (const portion of sink.digests()) digests.push(...portion)
    expect(digests).toHaveLength(12)
    expect(digests).toEqual(films(1, 12).map((row) => sink.digestOf(row)))
    expect(sink.digestOf(['1', 'another']).digest).not.toBe(digests[0]!.digest)
  })
})
