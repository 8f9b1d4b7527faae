import { describe, expect, it } from 'vitest'
import { RowBatch } from '../../sql/row-batch.js'
import { NO_WATERMARK } from '../progression.js'
import { Preparation } from './pass.js'
import type { ReadBatch, RowReader } from './reader.js'

function aReader(batches: number): RowReader & { reads: number } {
  return {
    reads: 0,
    async read(): Promise<ReadBatch | null> {
      if (this.reads === batches) return null
      this.reads += 1
      const rows = RowBatch.ofRows([[String(this.reads)]])
      return { rows, after: null, last: null, isLast: false, watermark: NO_WATERMARK, relation: '' }
    },
    async close() {},
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('reading ahead', () => {
  it('waits for a slow target: a few batches are under way, however many there are', async () => {
    const reader = aReader(100)
    const preparation = new Preparation(reader, null)
    for (let taken = 1; taken <= 10; taken += 1) {
      await preparation.next(1)
      await settled()
      expect(reader.reads).toBeLessThanOrEqual(taken + 2)
    }
    await preparation.close()
  })

  it('gives every batch once, in order, and then none', async () => {
    const preparation = new Preparation(aReader(3), null)
    const seen: (string | null)[] = []
    for (let batch = await preparation.next(1); batch !== null; batch = await preparation.next(1))
      seen.push(batch.ready.rows[0]![0]!)
    expect(seen).toEqual(['1', '2', '3'])
    expect(await preparation.next(1)).toBeNull()
  })

  it('tells a failure to whoever takes the batch, and not before', async () => {
    const reader = aReader(2)
    const chain = {
      columns: [],
      run: async (batch: RowBatch) => {
        if (batch.rows[0]![0] === '2') throw new Error('no')
        return batch
      },
      close: async () => {},
    }
    const preparation = new Preparation(reader, chain)
    expect((await preparation.next(1))!.ready.count).toBe(1)
    await settled()
    await expect(preparation.next(1)).rejects.toThrow('no')
    await preparation.close()
  })
})
