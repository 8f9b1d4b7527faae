import { describe, expect, it, onTestFinished } from 'vitest'
import { Spool } from './spool.js'

async function aSpool(chunks: readonly string[]): Promise<Spool> {
  const spool = await Spool.of(
    (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk)
    })(),
  )
  onTestFinished(() => spool.close())
  return spool
}

const PLENTY = 1024 * 1024

describe('a spool', () => {
  it('returns the rows in portions, in their order, however the chunks were cut', async () => {
    const spool = await aSpool(['1\ta\n2', '\tb\n', '3\tc\n4\td\n5', '\te\n'])
    const read = async (limit: number) => {
      const { rows, isLast } = await spool.read(limit, PLENTY)
      return { rows: rows.rows.map((row) => row.join('')), isLast }
    }
    expect(await read(2)).toEqual({ rows: ['1a', '2b'], isLast: false })
    expect(await read(2)).toEqual({ rows: ['3c', '4d'], isLast: false })
    expect(await read(2)).toEqual({ rows: ['5e'], isLast: true })
    expect(await read(2)).toEqual({ rows: [], isLast: true })
  })

  it('marks a full portion as the last one', async () => {
    const spool = await aSpool(['1\n2\n'])
    expect(await spool.read(2, PLENTY)).toMatchObject({ rows: { count: 2 }, isLast: true })
  })

  it('cuts a portion when it has enough bytes, but never inside a row', async () => {
    const long = 'x'.repeat(3_000_000)
    const spool = await aSpool([`${long}\n${long}\n`, 'short\n'])
    expect(await spool.read(10, 1000)).toMatchObject({ rows: { count: 1 }, isLast: false })
    expect((await spool.read(10, 1000)).rows.rows[0]![0]).toBe(long)
    expect(await spool.read(10, 1000)).toMatchObject({ rows: { count: 1 }, isLast: true })
  })

  it('is empty if no rows were added', async () => {
    expect(await (await aSpool([])).read(5, PLENTY)).toMatchObject({ rows: { count: 0 }, isLast: true })
  })
})
