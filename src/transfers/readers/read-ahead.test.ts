import { describe, expect, it } from 'vitest'
import { RowBatch } from '../../sql/row-batch.js'
import { NO_WATERMARK } from '../progression.js'
import { ReadAhead } from './read-ahead.js'
import type { Portion, Reader } from './reader.js'

function aReader(portions: number): Reader<RowBatch> & { reads: number } {
  return {
    reads: 0,
    async next(): Promise<Portion<RowBatch> | null> {
      if (this.reads === portions) return null
      this.reads += 1
      const rows = RowBatch.ofRows([[String(this.reads)]])
      const end = { after: null, last: null, isLast: false, watermark: NO_WATERMARK, queryable: null }
      return { rows, count: 1, phases: [], ...end }
    },
    async close() {},
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('reading ahead', () => {
  it('waits for a slow target: only a few portions are in memory, however many there are', async () => {
    const reader = aReader(100)
    const ahead = new ReadAhead(reader, null)
    for (let taken = 1; taken <= 10; taken += 1) {
      await ahead.next(1)
      await settled()
      expect(reader.reads).toBeLessThanOrEqual(taken + 2)
    }
    await ahead.close()
  })

  it('returns every portion once, in order, and then null', async () => {
    const ahead = new ReadAhead(aReader(3), null)
    const seen: (string | null)[] = []
    for (let portion = await ahead.next(1); portion !== null; portion = await ahead.next(1))
      seen.push(portion.rows.rows[0]![0]!)
    expect(seen).toEqual(['1', '2', '3'])
    expect(await ahead.next(1)).toBeNull()
  })

  it('throws the error of a transform when its portion is taken, and not before', async () => {
    const reader = aReader(2)
    const chain = {
      columns: [],
      segments: [],
      run: async (batch: RowBatch) => {
        if (batch.rows[0]![0] === '2') throw new Error('no')
        return batch
      },
      close: async () => {},
    }
    const ahead = new ReadAhead(reader, chain)
    expect((await ahead.next(1))!.rows.count).toBe(1)
    await settled()
    await expect(ahead.next(1)).rejects.toThrow('no')
    await ahead.close()
  })
})
