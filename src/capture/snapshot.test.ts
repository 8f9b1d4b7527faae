import { describe, expect, it } from 'vitest'
import { fullXid } from './full-xid.js'
import { formatLsn, parseLsn } from './lsn.js'
import { coversStart, gate, isVisible, parseSnapshot } from './snapshot.js'

const EPOCH = 2n ** 32n

it('reads and writes WAL positions', () => {
  expect(parseLsn('16/B374D848')).toBe(0x16_b374_d848n)
  expect(formatLsn(0x16_b374_d848n)).toBe('16/B374D848')
  expect(formatLsn(parseLsn('0/0'))).toBe('0/0')
})

describe('fullXid', () => {
  it.each([
    ['of the current epoch', 5, EPOCH + 10n, EPOCH + 5n],
    ['of the epoch before', 4_294_967_290, EPOCH + 10n, 4_294_967_290n],
    ['of the next epoch, begun since the snapshot', 3, 4_294_967_290n, EPOCH + 3n],
    ['of the first epoch', 700, 800n, 700n],
    ['above xmax', 900, 800n, 900n],
    ['of a cluster with epoch 5', 1_000, 5n * EPOCH + 2_000n, 5n * EPOCH + 1_000n],
  ])('restores a number %s', (_, xid, xmax, full) => {
    expect(fullXid(xid, xmax)).toBe(full)
  })
})

describe('a snapshot', () => {
  const snapshot = parseSnapshot('10:20:12,15')

  it('sees what ended before it and nothing else', () => {
    const visible = [9, 10, 11, 12, 14, 15, 19, 20, 21].filter((xid) => isVisible(BigInt(xid), snapshot))
    expect(visible).toEqual([9, 10, 11, 14, 19])
  })

  it('may have no open transactions', () => {
    expect(parseSnapshot('10:10:').open.size).toBe(0)
  })
})

describe('the gate', () => {
  const snapshot = parseSnapshot('10:20:12,15')
  const entry = (endLsn: bigint, xid: bigint) => ({ endLsn, xid })

  it('passes everything when the snapshot sees all entries', () => {
    expect(gate([entry(100n, 9n), entry(200n, 14n)], snapshot, 900n)).toEqual({ position: 900n, held: 0 })
  })

  it('stops before the first entry that the snapshot does not see, however many later ones it sees', () => {
    const entries = [entry(100n, 9n), entry(200n, 12n), entry(200n, 12n), entry(300n, 14n)]
    expect(gate(entries, snapshot, 900n)).toEqual({ position: 199n, held: 3 })
  })

  it('does not move when the first entry is not visible', () => {
    expect(gate([entry(100n, 25n)], snapshot, 900n)).toEqual({ position: 99n, held: 1 })
  })
})

describe('the first read after a slot was created', () => {
  const start = parseSnapshot('100:110:105')

  it.each([
    ['a later snapshot', '120:130:', true],
    ['one that still misses a commit from before the slot', '103:130:103', false],
    ['one in which a transaction is open that the slot will report', '105:130:105', true],
    ['one that was taken before', '100:108:', false],
  ])('%s', (_, snapshot, covers) => {
    expect(coversStart(parseSnapshot(snapshot), start)).toBe(covers)
  })
})
