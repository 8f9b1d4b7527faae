import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, it } from 'vitest'
import { anS3Mart, describeS3, runOnce, TestRun } from '../../../tests/support/s3-mart.js'
import { ALL_CASES } from '../../../tests/support/sample.js'

const films = (from: number, to: number, mark = '') =>
  Array.from({ length: to - from + 1 }, (_, index) => [String(from + index), `film ${from + index}${mark}`])
const HOUR = 3_600_000

await describeS3('Files of a mart', (s3) => {
  it('are in one folder for each value of the partition column, and contain that column', async () => {
    const types = { id: 'bigint', genre: 'text', title: 'text' }
    const mart = anS3Mart(s3, { types, options: { partition_by: 'genre' } })
    const genres = [
      'drama',
      'sci-fi & more/=%',
      null,
      '',
      '__HIVE_DEFAULT_PARTITION__',
      'Ж 🚀',
      '.',
      'a'.repeat(300),
    ]
    const rows = genres.map((genre, index) => [String(index), genre, `film ${index}`])
    const sink = await mart.open()
    const run = new TestRun()
    const { refused } = await run.write(sink, rows)
    expect(refused).toEqual([
      { row: 7, reason: 'genre: the name of the partition would exceed 255 characters' },
    ])
    await run.publish(sink)
    const { files } = (await mart.manifest())!
    expect(files.map(({ partition }) => partition)).toEqual(genres.slice(0, -1))
    expect(files.map(({ path }) => path.split('/').at(-2))).toEqual([
      'genre=drama',
      'genre=sci-fi%20%26%20more%2F%3D%25',
      'genre=__HIVE_DEFAULT_PARTITION__',
      'genre=',
      'genre=%5F_HIVE_DEFAULT_PARTITION__',
      'genre=%D0%96%20%F0%9F%9A%80',
      'genre=.',
    ])
    expect(await mart.read('SELECT id::VARCHAR, genre, title FROM mart ORDER BY id')).toEqual(
      rows.slice(0, -1),
    )
  })

  it('no longer contain a row that moved to another partition', async () => {
    const types = { id: 'bigint', month: 'date' }
    const mart = anS3Mart(s3, { types, options: { partition_by: 'month' } })
    await runOnce(mart, [
      ['1', '2024-01-01'],
      ['2', '2024-01-01'],
    ])
    await runOnce(mart, [['1', '2024-02-01']], new TestRun(2))
    expect(await mart.read('SELECT id::VARCHAR, month::VARCHAR FROM mart ORDER BY id')).toEqual([
      ['1', '2024-02-01'],
      ['2', '2024-01-01'],
    ])
    const partitions = (await mart.manifest())!.files.map(({ partition, rows }) => [partition, rows])
    expect(partitions.sort()).toEqual([
      ['2024-01-01', 1],
      ['2024-02-01', 1],
    ])
  })

  it('are not created by the thousand: a partition column with too many values is rejected', async () => {
    const mart = anS3Mart(s3, { options: { partition_by: 'id' } })
    const run = new TestRun()
    await expect(run.write(await mart.open(), films(1, 501))).rejects.toMatchObject({ code: 'TARGET_VALUE' })
  })

  it.each(['snappy', 'gzip', 'uncompressed'])(
    'are read by DuckDB and by us when they are compressed with %s',
    async (compression) => {
      const mart = anS3Mart(s3, { options: { compression } })
      await runOnce(mart, films(1, 300))
      await runOnce(mart, films(300, 301, ' new'), new TestRun(2))
      expect(await mart.read()).toEqual([...films(1, 299), ...films(300, 301, ' new')])
    },
  )

  const BATCH = ALL_CASES ? 5_000 : 1_000
  it(`hold ${20 * BATCH} rows of 20 batches, equal to what was written, in few files`, async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    const run = new TestRun()
    for (let batch = 0; batch < 20; batch++)
      await run.write(sink, films(batch * BATCH + 1, batch * BATCH + BATCH))
    await run.publish(sink)
    expect((await mart.manifest())!.files).toHaveLength(1)
    const all = films(1, 20 * BATCH)
    expect(await mart.read()).toEqual(all)
    // A third of them once more, spread over all files.
    const next = new TestRun(2)
    const changed = all.filter((_, index) => index % 3 === 0).map(([id]) => [id!, 'changed'])
    for (let start = 0; start < changed.length; start += BATCH)
      await next.write(sink, changed.slice(start, start + BATCH))
    await next.publish(sink)
    const expected = all.map(([id, title], index) => [id, index % 3 === 0 ? 'changed' : title])
    expect(await mart.read()).toEqual(expected)
  })

  it('are merged when there are many small ones, unless that is turned off', async () => {
    const mart = anS3Mart(s3)
    const apart = anS3Mart(s3, { options: { file_size_mb: 0 } })
    for (let fence = 1; fence <= 9; fence++) {
      await runOnce(mart, films(fence, fence), new TestRun(fence))
      await runOnce(apart, films(fence, fence), new TestRun(fence))
    }
    expect((await mart.manifest())!.files.map(({ rows }) => rows)).toEqual([8, 1])
    expect((await apart.manifest())!.files).toHaveLength(9)
    expect(await mart.read()).toEqual(films(1, 9))
    expect(await apart.read()).toEqual(films(1, 9))
  })

  it('are not read again when no key of the run can be in them', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(10, 12))
    const { path } = (await mart.manifest())!.files[0]!
    const Key = `${mart.name}/${path}`
    const whole = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key }))
    const Body = await whole.Body!.transformToByteArray()
    await s3.client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key }))
    await runOnce(mart, films(1, 9), new TestRun(2))
    await runOnce(mart, films(13, 20), new TestRun(3))
    const meets = new TestRun(4)
    const sink = await mart.open()
    await meets.write(sink, films(12, 12, ' new'))
    await expect(meets.publish(sink)).rejects.toMatchObject({ code: 'SINK_GONE' })
    await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body }))
    await meets.publish(sink)
    expect(await mart.read()).toEqual([...films(1, 11), ...films(12, 12, ' new'), ...films(13, 20)])
  })

  it('are kept for readers of an older manifest for a day and then deleted, and no others are', async () => {
    let now = Date.now()
    const mart = anS3Mart(s3, { now: () => new Date(now) })
    await runOnce(mart, films(1, 2))
    const [old] = (await mart.manifest())!.files.map(({ path }) => path)
    const abandoned = new TestRun(2)
    await abandoned.write(await mart.open(), films(7, 7))
    await s3.client.send(
      new PutObjectCommand({
        Bucket: mart.bucket,
        Key: `${mart.name}/data/notes.txt`,
        Body: 'mine',
      }),
    )
    await runOnce(mart, films(2, 2, ' new'), new TestRun(3))
    expect(await mart.objects()).toContain(old)
    now += 23 * HOUR
    await runOnce(mart, films(3, 3), new TestRun(4))
    expect(await mart.objects()).toContain(old)
    now += 2 * HOUR
    await runOnce(mart, films(4, 4), new TestRun(5))
    const objects = await mart.objects()
    expect(objects).not.toContain(old)
    expect(objects.filter((path) => path.includes(abandoned.id))).toEqual([])
    expect(objects).toContain('data/notes.txt')
    expect((await mart.manifest())!.retired).toEqual([])
    expect(await mart.read()).toEqual([...films(1, 1), ...films(2, 2, ' new'), ...films(3, 4)])
  })

  it('are complete for readers while runs are published', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 50, ' run 1'))
    let ended = false
    const seen: number[] = []
    const reader = (async () => {
      while (!ended) seen.push(await readRun(mart.name))
    })()
    for (let fence = 2; fence <= 12; fence++) {
      const sink = await mart.open()
      const run = new TestRun(fence)
      await run.write(sink, films(1, 25, ` run ${fence}`))
      await run.write(sink, films(26, 50, ` run ${fence}`))
      await run.publish(sink)
    }
    ended = true
    await reader
    expect(seen.length).toBeGreaterThan(3)
    expect(seen).toEqual([...seen].sort((left, right) => left - right))
  })

  /** Reads the mart as its manifest says; all 50 rows must be of one run, which is returned. */
  async function readRun(name: string): Promise<number> {
    const { parquetReadObjects } = await import('hyparquet')
    const get = async (key: string) => {
      const object = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key: `${name}/${key}` }))
      return (await object.Body!.transformToByteArray()).slice().buffer as ArrayBuffer
    }
    const { files } = JSON.parse(Buffer.from(await get('manifest.json')).toString())
    const rows = await Promise.all(
      files.map(async ({ path }: { path: string }) => parquetReadObjects({ file: await get(path) })),
    )
    const titles = rows.flat().map(({ title }) => title as string)
    const runs = new Set(titles.map((title) => title.replace(/^film \d+ run /, '')))
    expect(titles).toHaveLength(50)
    expect(runs.size).toBe(1)
    return Number([...runs][0])
  }
})
