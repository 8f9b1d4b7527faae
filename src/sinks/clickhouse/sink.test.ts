import { describe, expect, it } from 'vitest'
import { aClickHouse } from '../../../tests/support/clickhouse.js'
import { aClickHouseMart, batch, digestsOf, rowsOf } from '../../../tests/support/clickhouse-mart.js'
import { RowBatch } from '../../sql/row-batch.js'

const server = await aClickHouse()

describe('a mart in ClickHouse (real engine, HTTP front of our own)', () => {
  it('is created with the types of the query and read without FINAL', async () => {
    const mart = aClickHouseMart(server, { columns: { id: 'bigint', title: 'text', rating: 'numeric(3,1)' } })
    const sink = await mart.open()
    expect(await sink.examine()).toMatchObject({ exists: false, errors: [] })
    await sink.prepare()
    await sink.prepare()
    expect((await sink.examine()).exists).toBe(true)
    const types = await server.rows(
      `SELECT name, type FROM system.columns WHERE database = '${mart.database}' AND table = 'mart' ORDER BY position`,
    )
    expect(types).toEqual([
      ['id', 'Int64'],
      ['title', 'Nullable(String)'],
      ['rating', 'Nullable(Decimal(3, 1))'],
    ])
    await sink.write(rowsOf(['1', 'one', '7.5']), batch(1, 1))
    expect(await mart.read()).toEqual([['1', 'one', '7.5']])
  })

  it('distinguishes inserted, updated and unchanged rows, and writes no unchanged one', async () => {
    const mart = aClickHouseMart(server)
    const sink = await mart.open()
    await sink.prepare()
    const first = await sink.write(rowsOf(['1', 'one'], ['2', null]), batch(1, 1))
    expect(first).toMatchObject({ inserted: 2, updated: 0, unchanged: 0, duplicates: 0, refused: [] })
    const second = await sink.write(rowsOf(['1', 'one'], ['2', 'two'], ['3', 'three']), batch(1, 2))
    expect(second).toMatchObject({ inserted: 1, updated: 1, unchanged: 1 })
    expect(await mart.read()).toEqual([
      ['1', 'one'],
      ['2', 'two'],
      ['3', 'three'],
    ])
    const stored = await server.rows(`SELECT count() FROM ${mart.database}.mart__data`)
    expect(Number(stored[0]![0])).toBeLessThanOrEqual(4)
  })

  it('keeps the last of several rows of a key and counts the others', async () => {
    const mart = aClickHouseMart(server)
    const sink = await mart.open()
    await sink.prepare()
    const result = await sink.write(rowsOf(['1', 'old'], ['2', 'x'], ['1', 'new']), batch(1, 1))
    expect(result).toMatchObject({ inserted: 2, duplicates: 1 })
    expect(await mart.read()).toEqual([
      ['1', 'new'],
      ['2', 'x'],
    ])
  })

  it('takes COPY lines as they come, and rows with composite keys', async () => {
    const mart = aClickHouseMart(server, {
      columns: { a: 'text!', b: 'integer!', note: 'text' },
      key: ['b', 'a'],
    })
    const sink = await mart.open()
    await sink.prepare()
    const lines = Buffer.from('x$vitrina$\t1\ta\\tb\\\\c\nx\t11\t\\N\nx\\t1\t1\t\n')
    expect((await sink.write(RowBatch.ofLines(lines, 3), batch(1, 1))).inserted).toBe(3)
    expect((await sink.write(RowBatch.ofLines(lines, 3), batch(1, 2))).unchanged).toBe(3)
    expect((await sink.remove([['1', 'x$vitrina$']], batch(1, 3))).deleted).toBe(1)
    expect(await mart.read()).toEqual([
      ['x', '11', '\\N'],
      ['x\\t1', '1', ''],
    ])
  })

  it('leaves the mart unchanged when the same batch is written twice, by the same holder or the next', async () => {
    const mart = aClickHouseMart(server, { options: { compare: false } })
    const sink = await mart.open()
    await sink.prepare()
    const rows = rowsOf(['1', 'one'], ['2', 'two'])
    await sink.write(rows, batch(1, 1))
    const before = await digestsOf(sink)
    await sink.write(rows, batch(1, 1))
    const next = await mart.open()
    expect(await next.write(rows, batch(2, 1))).toMatchObject({ inserted: 2 })
    expect(await digestsOf(sink)).toEqual(before)
    expect(await mart.read('count()')).toEqual([['2']])
  })

  it('writes rows of a repeated batch again after they were removed', async () => {
    const mart = aClickHouseMart(server)
    const first = await mart.open()
    await first.prepare()
    await first.write(rowsOf(['1', 'one']), batch(1, 1))
    const second = await mart.open()
    await second.remove([['1']], batch(1, 1))
    expect(await mart.read()).toEqual([])
    const third = await mart.open()
    await third.write(rowsOf(['1', 'one']), batch(1, 1))
    expect(await mart.read()).toEqual([['1', 'one']])
  })

  it('stores a batch once when the response was lost and it was sent again', async () => {
    const mart = aClickHouseMart(server)
    const sink = await mart.open()
    await sink.prepare()
    await server.fail({ pattern: '^INSERT INTO', times: 1, lose: true })
    await server.requests()
    await sink.write(rowsOf(['1', 'one'], ['2', 'two']), batch(1, 1))
    const inserts = (await server.requests()).filter(({ sql }) => sql.startsWith('INSERT INTO'))
    expect(inserts).toHaveLength(2)
    const [first, second] = inserts.map(({ settings }) => settings.insert_deduplication_token)
    expect(first).toMatch(/\/1111.*\/aaaa.*\/1\/1\/mart__data\/0$/)
    expect(second).toBe(first)
    expect(await server.rows(`SELECT count() FROM ${mart.database}.mart__data`)).toEqual([['2']])
  })
})

describe('late writers (real engine, HTTP front of our own)', () => {
  it('rejects what a holder sends after a later one took over, even in a write that it had begun', async () => {
    const mart = aClickHouseMart(server)
    const frozen = await mart.open()
    await frozen.prepare()
    await frozen.write(rowsOf(['1', 'first']), batch(1, 1))
    const successor = await mart.open()
    await successor.write(rowsOf(['1', 'second']), batch(2, 1))
    await expect(frozen.write(rowsOf(['1', 'late'], ['9', 'late']), batch(1, 2))).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    await expect(frozen.remove([['1']], batch(1, 2))).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await mart.read()).toEqual([['1', 'second']])
  })

  it('rejects a new holder with an older fence', async () => {
    const mart = aClickHouseMart(server)
    const successor = await mart.open()
    await successor.prepare()
    await successor.write(rowsOf(['1', 'second']), batch(2, 1))
    const frozen = await mart.open()
    await expect(frozen.write(rowsOf(['1', 'late']), batch(1, 1))).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    expect(await mart.read()).toEqual([['1', 'second']])
  })

  it('allows a recreated pipeline, whose fences are small again, to change old rows', async () => {
    const mart = aClickHouseMart(server)
    const old = await mart.open()
    await old.prepare()
    await old.write(rowsOf(['1', 'old']), batch(900, 40))
    const reopened = await mart.open()
    const id = batch(1, 1, { pipelineId: '22222222-2222-2222-2222-222222222222' })
    expect(await reopened.write(rowsOf(['1', 'new']), id)).toMatchObject({ updated: 1 })
    expect(await mart.read()).toEqual([['1', 'new']])
    await expect(old.write(rowsOf(['1', 'old']), batch(900, 41))).rejects.toMatchObject({ code: 'SINK_GONE' })
  })

  it('continues above the last version when the comment was removed', async () => {
    const mart = aClickHouseMart(server)
    const first = await mart.open()
    await first.prepare()
    await first.write(rowsOf(['1', 'first']), batch(7, 1))
    await server.rows(`ALTER TABLE ${mart.database}.mart__data MODIFY COMMENT 'ours'`)
    const next = await mart.open()
    await next.write(rowsOf(['1', 'next']), batch(8, 1))
    expect(await mart.read()).toEqual([['1', 'next']])
  })
})

describe('deletes (real engine, HTTP front of our own)', () => {
  async function filled(brake: number) {
    const mart = aClickHouseMart(server, { brake })
    const sink = await mart.open()
    await sink.prepare()
    await sink.write(rowsOf(['1', 'a'], ['2', 'b'], ['3', 'c'], ['4', 'd']), batch(1, 1))
    return { mart, sink }
  }
  async function* portions(...keys: string[][]) {
    for (const portion of keys) yield portion.map((key) => [key])
  }

  it('removes rows by key and counts only those that were there', async () => {
    const { mart, sink } = await filled(1)
    expect(await sink.remove([['1'], ['77'], ['1']], batch(1, 2))).toEqual({ deleted: 1 })
    expect(await sink.remove([['1']], batch(1, 3))).toEqual({ deleted: 0 })
    expect(await mart.read('id')).toEqual([['2'], ['3'], ['4']])
    expect(await sink.write(rowsOf(['1', 'a']), batch(1, 4))).toMatchObject({ inserted: 1 })
    expect(await mart.read('count()')).toEqual([['4']])
  })

  it('removes rows whose key is missing, in any number of portions', async () => {
    const { mart, sink } = await filled(0.5)
    expect(await sink.removeAbsent(portions(['1', '9'], [], ['4']), batch(1, 2))).toEqual({ deleted: 2 })
    expect(await mart.read('id')).toEqual([['1'], ['4']])
    expect(await server.rows(`SHOW TABLES FROM ${mart.database}`)).toEqual([['mart'], ['mart__data']])
  })

  it('distinguishes a key from its column of the same name', async () => {
    const mart = aClickHouseMart(server, { columns: { name: 'text!' }, key: ['name'] })
    const sink = await mart.open()
    await sink.prepare()
    await sink.write(rowsOf(['name'], ['other']), batch(1, 1))
    expect(await sink.removeAbsent(portions(['name']), batch(1, 2))).toEqual({ deleted: 1 })
    expect(await mart.read()).toEqual([['name']])
  })

  it('stops before it removes more than the brake allows', async () => {
    const { mart, sink } = await filled(0.5)
    await expect(sink.removeAbsent(portions(['1']), batch(1, 2))).rejects.toMatchObject({
      code: 'BRAKE',
      message: expect.stringContaining('3 of the 4 rows'),
    })
    expect(await mart.read('count()')).toEqual([['4']])
    expect(await server.rows(`SHOW TABLES FROM ${mart.database}`)).toHaveLength(2)
  })

  it('removes everything if the source is empty and the brake allows it', async () => {
    const { mart, sink } = await filled(1)
    expect(await sink.removeAbsent(portions(), batch(1, 2))).toEqual({ deleted: 4 })
    expect(await mart.read()).toEqual([])
    expect(await sink.summary('id')).toEqual({ count: 0, min: null, max: null })
  })
})
