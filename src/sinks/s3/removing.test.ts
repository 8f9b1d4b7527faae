import { expect, it } from 'vitest'
import { anS3Mart, describeS3, runOnce, TestRun, type TestS3Mart } from '../../../tests/support/s3-mart.js'
import { RowBatch } from '../../sql/row-batch.js'

const films = (from: number, to: number, mark = '') =>
  Array.from({ length: to - from + 1 }, (_, index) => [String(from + index), `film ${from + index}${mark}`])
const keys = (from: number, to: number) => films(from, to).map(([id]) => [id!])

/** Rebuilds the mart, a batch for each list of rows. */
async function replaceWith(mart: TestS3Mart, batches: string[][][], run = new TestRun(2), brake = 0.5) {
  const sink = await mart.open({ brake })
  const replacement = await sink.replacement(run.id)
  let rows = 0
  for (const batch of batches) rows += (await run.write(replacement as never, batch)).inserted
  const publish = () => replacement.publish(run.last(), { rows, rewritten: 0, marks: run.marks })
  return { sink, replacement, publish, run }
}

await describeS3('Removing rows from files', (s3) => {
  it('removes rows that the source no longer has, also rows that this run wrote', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 6))
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.write(sink, films(6, 8, ' new'))
    // An attempt that continues the run has the marks, and has not written a thing itself.
    expect(await run.removeAbsent(await mart.open(), keys(2, 7))).toBe(2)
    await run.publish(sink)
    expect(await mart.read()).toEqual([...films(2, 5), ...films(6, 7, ' new')])
  })

  it('stops before it removes more than the brake allows', async () => {
    const mart = anS3Mart(s3, { brake: 0.5 })
    await runOnce(mart, films(1, 4))
    const sink = await mart.open()
    const run = new TestRun(2)
    await expect(run.removeAbsent(sink, keys(1, 1))).rejects.toMatchObject({
      code: 'BRAKE',
      message: `The run would delete 3 of the 4 rows of s3:${mart.name}; delete_brake allows 50 %.`,
    })
    expect(run.marks).toEqual([])
    expect(await run.removeAbsent(sink, keys(1, 2))).toBe(2)
    await run.publish(sink)
    expect(await mart.read()).toEqual(films(1, 2))
  })

  it('leaves a file for readers when the last row is gone', async () => {
    const mart = anS3Mart(s3, { brake: 1 })
    await runOnce(mart, films(1, 2))
    const sink = await mart.open()
    const run = new TestRun(2)
    expect(await run.removeAbsent(sink, [])).toBe(2)
    await run.publish(sink)
    expect(await mart.read()).toEqual([])
  })

  it('finds keys of several columns, in the order of the key', async () => {
    const types = { film: 'uuid', at: 'timestamp with time zone', note: 'text' }
    const mart = anS3Mart(s3, { types, key: ['at', 'film'] })
    const film = (n: number) => `00000000-0000-0000-0000-00000000000${n}`
    const at = '2024-01-02 03:04:05.123456+00'
    await runOnce(mart, [
      [film(1), at, 'a'],
      [film(2), at, 'b'],
    ])
    const sink = await mart.open()
    const run = new TestRun(2)
    await run.remove(sink, [[at, film(1)]])
    await run.publish(sink)
    expect(await mart.read('SELECT note FROM mart')).toEqual([['b']])
  })
})

await describeS3('Replacing a mart of files', (s3) => {
  it('shows the old mart until the new one is complete, and counts deleted rows', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 4))
    const { publish } = await replaceWith(mart, [films(3, 4, ' new'), films(5, 6, ' new')])
    expect(await mart.read()).toEqual(films(1, 4))
    expect(await publish()).toEqual({ deleted: 2 })
    expect(await mart.read()).toEqual(films(3, 6, ' new'))
  })

  it('is stopped by the brake, and the old mart stays', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 4))
    const { publish } = await replaceWith(mart, [films(4, 4)])
    await expect(publish()).rejects.toMatchObject({ code: 'BRAKE' })
    expect(await mart.read()).toEqual(films(1, 4))
  })

  it('removes everything if the brake is 1', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 4))
    const { publish } = await replaceWith(mart, [], new TestRun(2), 1)
    expect(await publish()).toEqual({ deleted: 4 })
    expect(await mart.read()).toEqual([])
  })

  it('continues in another attempt, and is published once when requested twice', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, films(1, 4))
    const first = await replaceWith(mart, [films(1, 3, ' new')])
    const again = new TestRun(3, first.run.id)
    const replacement = await (await mart.open()).replacement(again.id)
    const { marks = [] } = await replacement.write(RowBatch.ofRows(films(4, 5, ' new')), {
      ...again.batch(),
      number: 2,
    })
    const written = { rows: 5, rewritten: 0, marks: [...first.run.marks, ...marks] }
    expect(await replacement.publish(again.last(), written)).toEqual({ deleted: 0 })
    const before = await mart.manifest()
    expect(await replacement.publish(again.last(), written)).toEqual({ deleted: 0 })
    expect(await mart.manifest()).toEqual(before)
    expect(await mart.read()).toEqual(films(1, 5, ' new'))
  })

  it('does not publish fewer rows than were written', async () => {
    const mart = anS3Mart(s3)
    const { replacement, run } = await replaceWith(mart, [films(1, 3)])
    const publish = replacement.publish(run.last(), { rows: 5, rewritten: 1, marks: run.marks })
    await expect(publish).rejects.toMatchObject({ code: 'SINK_GONE' })
    expect(await mart.manifest()).toBeNull()
  })

  it('keeps one row if a key occurs twice', async () => {
    const mart = anS3Mart(s3)
    const { publish } = await replaceWith(mart, [films(1, 2, ' early'), films(2, 3, ' late')])
    await publish()
    expect(await mart.read()).toEqual([...films(1, 1, ' early'), ...films(2, 3, ' late')])
  })
})
