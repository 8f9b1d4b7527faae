import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { aClickHouse } from '../../../tests/support/clickhouse.js'
import {
  aClickHouseMart,
  batch,
  kindFor,
  martColumns,
  rowsOf,
} from '../../../tests/support/clickhouse-mart.js'

const server = await aClickHouse()

async function prepared() {
  const mart = aClickHouseMart(server, { columns: { id: 'bigint', title: 'text' } })
  const sink = await mart.open()
  await sink.prepare()
  return { mart, sink }
}

describe('rejected rows (real engine behind a small HTTP server)', () => {
  it('are found before they are sent, and the others are written', async () => {
    const mart = aClickHouseMart(server, { columns: { id: 'bigint', day: 'date', price: 'numeric' } })
    const sink = await mart.open()
    await sink.prepare()
    const result = await sink.write(
      rowsOf(['1', '2024-01-01', '1'], ['2', 'infinity', '1'], [null, null, null], ['4', null, 'NaN']),
      batch(1, 1),
    )
    expect(result).toMatchObject({ inserted: 1, refused: [{ row: 1 }, { row: 2 }, { row: 3 }] })
    expect(result.refused.map(({ reason }) => reason)).toEqual([
      'Column "day": infinity is not between 1900-01-01 and 2299-12-31.',
      'Column "id" is NULL; a key must not be NULL.',
      'Column "price": NaN is not a valid Decimal.',
    ])
    expect(await mart.read('id')).toEqual([['1']])
  })

  it('are found by bisection if only the server can detect them', async () => {
    const { mart, sink } = await prepared()
    await server.rows(
      `ALTER TABLE ${mart.database}.mart__data ADD CONSTRAINT short CHECK _vitrina_deleted = 1 OR length(assumeNotNull(title)) < 5`,
    )
    const rows = Array.from({ length: 100 }, (_, id) => [String(id), id % 40 === 7 ? 'too long' : 'ok'])
    const result = await sink.write(rowsOf(...rows), batch(1, 1))
    expect(result.inserted).toBe(97)
    expect(result.refused.map(({ row }) => row)).toEqual([7, 47, 87])
    expect(result.refused[0]!.reason).toContain('`short`')
    expect(await mart.read('count()')).toEqual([['97']])
    expect(await sink.write(rowsOf(...rows), batch(1, 1))).toMatchObject({ inserted: 0, unchanged: 97 })
  })
})

describe('a failing server (real engine behind a small HTTP server)', () => {
  it('is retried when it is busy for a moment', async () => {
    const { mart, sink } = await prepared()
    await server.fail({ pattern: '^INSERT', times: 2, code: 252, type: 'TOO_MANY_PARTS' })
    await sink.write(rowsOf(['1', 'one']), batch(1, 1))
    expect(await mart.read()).toEqual([['1', 'one']])
  })

  const ANSWERS = [
    [252, 'TOO_MANY_PARTS', 'SINK_OVERLOADED', 'retry'],
    [241, 'MEMORY_LIMIT_EXCEEDED', 'SINK_OVERLOADED', 'retry'],
    [243, 'NOT_ENOUGH_SPACE', 'SINK_OVERLOADED', 'retry'],
    [201, 'QUOTA_EXCEEDED', 'SINK_OVERLOADED', 'retry'],
    [242, 'TABLE_IS_READ_ONLY', 'SINK_BLOCKED', 'retry'],
    [164, 'READONLY', 'SINK_BLOCKED', 'retry'],
    [60, 'UNKNOWN_TABLE', 'SINK_GONE', 'retry'],
    [516, 'AUTHENTICATION_FAILED', 'SINK_LOGIN', 'stop'],
    [497, 'ACCESS_DENIED', 'SINK_REFUSED', 'stop'],
    [62, 'SYNTAX_ERROR', 'SINK_REFUSED', 'stop'],
  ] as const
  for (const [code, type, expected, outcome] of ANSWERS) {
    it(`maps ${type} to ${expected}, which is "${outcome}"`, async () => {
      const { mart, sink } = await prepared()
      await server.fail({ pattern: '^INSERT', times: 9, code, type })
      await expect(sink.write(rowsOf(['1', 'one']), batch(1, 1))).rejects.toMatchObject({
        code: expected,
        class: outcome,
        message: expect.stringMatching(
          new RegExp(`Writing to ${mart.database}.mart__data at http.*${code}, ${type}`),
        ),
      })
      await server.fail()
    })
  }

  it('fails the run when the mart is dropped in the middle of it', async () => {
    const { mart, sink } = await prepared()
    await sink.write(rowsOf(['1', 'one']), batch(1, 1))
    await server.rows(`DROP TABLE ${mart.database}.mart__data`)
    await expect(sink.write(rowsOf(['2', 'two']), batch(1, 2))).rejects.toMatchObject({ code: 'SINK_GONE' })
  })

  it('names the column when a column was dropped in the middle of a run', async () => {
    const { mart, sink } = await prepared()
    await sink.write(rowsOf(['1', 'one']), batch(1, 1))
    await server.rows(`ALTER TABLE ${mart.database}.mart__data DROP COLUMN title`)
    await expect(sink.write(rowsOf(['2', 'two']), batch(1, 2))).rejects.toMatchObject({
      message: expect.stringContaining('title'),
    })
  })

  it('stops when the holder is aborted', async () => {
    const { mart } = await prepared()
    const stop = new AbortController()
    const sink = await mart.open({ signal: stop.signal })
    await server.fail({ pattern: '^INSERT', times: 99, code: 252, type: 'TOO_MANY_PARTS' })
    const writing = sink.write(rowsOf(['1', 'one']), batch(1, 1))
    const reason = new Error('the lease is lost')
    stop.abort(reason)
    await expect(writing).rejects.toBe(reason)
    await server.fail()
  })

  it('rejects a wrong password without showing it', async () => {
    const kind = kindFor(server, { CLICKHOUSE_PASSWORD: 'no secret at all' })
    const refused = kind.ping(new AbortController().signal)
    await expect(refused).rejects.toMatchObject({ code: 'SINK_LOGIN' })
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('secret') })
  })

  it('reports its address and version, without its password', async () => {
    const kind = kindFor(server)
    expect(kind.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await kind.version?.(new AbortController().signal)).toMatch(/^\d+\.\d+/)
  })

  it('responds to a ping with its version', async () => {
    expect(await kindFor(server).ping(new AbortController().signal)).toMatch(
      /^ClickHouse \d+\.\d+.* at http:\/\/127/,
    )
  })
})

describe('an address that does not respond', () => {
  it('is SINK_UNAVAILABLE after a short time, without the password', async () => {
    const url = `http://etl:hidden@127.0.0.1:${await freePort()}`
    const kind = kindFor(server, { CLICKHOUSE_URL: url })
    const { signal } = new AbortController()
    const mart = {
      name: 'a',
      columns: martColumns({ id: 'bigint' }),
      key: ['id'],
      options: {},
      brake: 1,
      signal,
    }
    const sink = await kind.open(mart)
    const refused = sink.examine()
    await expect(refused).rejects.toMatchObject({
      code: 'SINK_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('hidden') })
    await sink.close()
  })
})

async function freePort(): Promise<number> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { port: number }
  await new Promise((resolve) => listener.close(resolve))
  return port
}
