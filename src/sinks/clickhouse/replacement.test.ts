import { describe, expect, it } from 'vitest'
import { aClickHouse } from '../../../tests/support/clickhouse.js'
import {
  aClickHouseMart,
  batch,
  type ClickHouseMartOptions,
  rowsOf,
} from '../../../tests/support/clickhouse-mart.js'

const server = await aClickHouse()
const RUN = batch(1, 1).runId

async function filled(options: ClickHouseMartOptions = {}) {
  const mart = aClickHouseMart(server, options)
  const sink = await mart.open()
  await sink.prepare()
  await sink.write(rowsOf(['1', 'old'], ['2', 'old']), batch(1, 1, { runId: 'before' }))
  return { mart, sink }
}
const tablesOf = (database: string) => server.rows(`SHOW TABLES FROM ${database}`)
const BARE = [['mart'], ['mart__data']]

describe('a replacement (real engine, HTTP front of our own)', () => {
  it('becomes visible all at once, and drops the old rows with their table', async () => {
    const { mart } = await filled()
    const sink = await mart.open()
    const replacement = await sink.replacement(RUN)
    await replacement.write(rowsOf(['2', 'new']), batch(2, 1))
    await replacement.write(rowsOf(['3', 'new'], ['4', 'new']), batch(2, 2))
    expect(await mart.read()).toEqual([
      ['1', 'old'],
      ['2', 'old'],
    ])
    expect(await replacement.publish(batch(2, 3), { rows: 3, rewritten: 0, marks: [] })).toEqual({
      deleted: 1,
    })
    expect(await mart.read()).toEqual([
      ['2', 'new'],
      ['3', 'new'],
      ['4', 'new'],
    ])
    expect(await tablesOf(mart.database)).toEqual(BARE)
  })

  it('is never empty or incomplete for readers that query it continuously', async () => {
    const { mart } = await filled()
    const sink = await mart.open()
    const replacement = await sink.replacement(RUN)
    const seen = new Set<string>()
    let asking = true
    const reader = (async () => {
      while (asking) seen.add((await mart.read('count()'))[0]![0]!)
    })()
    for (let number = 1; number <= 5; number++)
      await replacement.write(rowsOf([`${number}0`, 'new'], [`${number}1`, 'new']), batch(2, number))
    await replacement.publish(batch(2, 6), { rows: 10, rewritten: 0, marks: [] })
    seen.add((await mart.read('count()'))[0]![0]!)
    asking = false
    await reader
    expect([...seen].sort()).toEqual(['10', '2'])
  })

  it('resumes after a crash with what was built, repeating the last batch', async () => {
    const { mart } = await filled()
    const first = await (await mart.open()).replacement(RUN)
    expect(first.isResumable).toBe(true)
    await first.write(rowsOf(['1', 'new'], ['2', 'new']), batch(2, 1))
    await first.write(rowsOf(['3', 'new']), batch(2, 2))
    const second = await (await mart.open()).replacement(RUN)
    expect(await second.write(rowsOf(['3', 'newer']), batch(3, 2))).toMatchObject({ updated: 1 })
    await expect(first.write(rowsOf(['3', 'late']), batch(2, 3))).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    await second.publish(batch(3, 3), { rows: 4, rewritten: 1, marks: [] })
    expect(await mart.read()).toEqual([
      ['1', 'new'],
      ['2', 'new'],
      ['3', 'newer'],
    ])
  })

  it('is not undone when the response to the exchange was lost and it is published again', async () => {
    const { mart } = await filled()
    const first = await (await mart.open()).replacement(RUN)
    await first.write(rowsOf(['1', 'new']), batch(2, 1))
    await server.fail({ pattern: '^EXCHANGE', times: 1, lose: true })
    await expect(first.publish(batch(2, 2), { rows: 1, rewritten: 0, marks: [] })).rejects.toMatchObject({
      code: 'SINK_UNAVAILABLE',
    })
    const second = await (await mart.open()).replacement(RUN)
    await second.write(rowsOf(['1', 'new']), batch(3, 1))
    await second.publish(batch(3, 2), { rows: 1, rewritten: 1, marks: [] })
    expect(await mart.read()).toEqual([['1', 'new']])
    expect(await tablesOf(mart.database)).toEqual(BARE)
  })

  it('stops before more rows disappear than the brake allows, and leaves the mart as it was', async () => {
    const { mart } = await filled({ brake: 0.4 })
    const replacement = await (await mart.open()).replacement(RUN)
    await replacement.write(rowsOf(['2', 'new']), batch(2, 1))
    await expect(
      replacement.publish(batch(2, 2), { rows: 1, rewritten: 0, marks: [] }),
    ).rejects.toMatchObject({
      code: 'BRAKE',
      message: expect.stringContaining('1 of the 2 rows'),
    })
    expect(await mart.read('count()')).toEqual([['2']])
  })

  it('is rejected when it has too few or too many rows', async () => {
    const { mart } = await filled()
    const replacement = await (await mart.open()).replacement(RUN)
    await replacement.write(rowsOf(['1', 'new'], ['2', 'new']), batch(2, 1))
    for (const rows of [3, 1])
      await expect(replacement.publish(batch(2, 2), { rows, rewritten: 0, marks: [] })).rejects.toMatchObject(
        {
          code: 'SINK_GONE',
          message: expect.stringContaining(`contains 2 rows, but ${rows} were written`),
        },
      )
    expect(await mart.read()).toEqual([
      ['1', 'old'],
      ['2', 'old'],
    ])
  })

  it('takes a key that the query returns in two batches as one row', async () => {
    const { mart } = await filled()
    const replacement = await (await mart.open()).replacement(RUN)
    await replacement.write(rowsOf(['1', 'a'], ['2', 'b']), batch(2, 1))
    expect(await replacement.write(rowsOf(['1', 'c']), batch(2, 2))).toMatchObject({
      inserted: 0,
      updated: 1,
    })
    await replacement.publish(batch(2, 3), { rows: 3, rewritten: 1, marks: [] })
    expect(await mart.read()).toEqual([
      ['1', 'c'],
      ['2', 'b'],
    ])
  })

  it('removes an incomplete replacement of another run, whose holder can no longer publish it', async () => {
    const { mart } = await filled()
    const left = await (await mart.open()).replacement('a run that died')
    await left.write(rowsOf(['7', 'half']), batch(2, 1, { runId: 'a run that died' }))
    const replacement = await (await mart.open()).replacement(RUN)
    await replacement.write(rowsOf(['1', 'new']), batch(3, 1))
    await expect(
      left.publish(batch(2, 2, { runId: 'a run that died' }), { rows: 1, rewritten: 0, marks: [] }),
    ).rejects.toMatchObject({ code: 'SINK_GONE' })
    await replacement.publish(batch(3, 2), { rows: 1, rewritten: 0, marks: [] })
    expect(await mart.read()).toEqual([['1', 'new']])
    expect(await tablesOf(mart.database)).toEqual(BARE)
  })

  it('is the same mart as before; one that was dropped and created again is not', async () => {
    const { mart, sink } = await filled()
    const before = await sink.identity!()
    const next = await mart.open()
    const replacement = await next.replacement(RUN)
    await replacement.write(rowsOf(['1', 'new']), batch(2, 1))
    await replacement.publish(batch(2, 2), { rows: 1, rewritten: 0, marks: [] })
    expect(await next.identity!()).toBe(before)
    await server.rows(`DROP TABLE ${mart.database}.mart__data`)
    const again = await mart.open()
    await again.prepare()
    const after = await again.identity!()
    expect(after).not.toBe(before)
    await again.write(rowsOf(['1', 'again']), batch(3, 1))
    expect(await again.identity!()).toBe(after)
    expect(await mart.read()).toEqual([['1', 'again']])
  })

  it('keeps what an administrator gave the table, and later batches use it', async () => {
    const { mart } = await filled()
    await server.rows(`ALTER TABLE ${mart.database}.mart__data ADD INDEX by_title title TYPE bloom_filter`)
    const replacement = await (await mart.open()).replacement(RUN)
    await replacement.write(rowsOf(['1', 'new']), batch(2, 1))
    await replacement.publish(batch(2, 2), { rows: 1, rewritten: 0, marks: [] })
    const next = await mart.open()
    await next.write(rowsOf(['1', 'newer']), batch(3, 1))
    expect(await mart.read()).toEqual([['1', 'newer']])
    const [[create]] = (await server.rows(`SHOW CREATE TABLE ${mart.database}.mart__data`)) as [[string]]
    expect(create).toContain('by_title')
  })
})
