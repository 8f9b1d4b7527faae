import { describe, expect, it } from 'vitest'
import { batchId, toColumn } from '../../../tests/support/elasticsearch.js'
import { RowBatch } from '../../sql/row-batch.js'
import { versionOf } from './batch-version.js'
import { BulkEncoder } from './bulk-encoder.js'
import { documentId, keyOfId } from './document-id.js'
import { normalJson, parseExact } from './exact-json.js'
import { KeySet } from './key-set.js'

describe('an _id', () => {
  const PARTS = ['', '~', '|', '~~', '~|', '|~', 'a', 'a|b', '~#', '#', '\\', 'é']

  it('is the readable text of a single key', () => {
    expect(documentId(['1f-2e'])).toBe('1f-2e')
    expect(documentId(['a', 'b'])).toBe('a|b')
  })

  it('is unique for each key, and can be decoded to the key', () => {
    for (const parts of [1, 2, 3]) {
      const keys = combinations(PARTS, parts)
      const ids = keys.map((key) => documentId(key)!)
      expect(new Set(ids).size).toBe(keys.length)
      expect(ids.every((id) => id !== '')).toBe(true)
      expect(ids.map((id) => keyOfId(id, parts))).toEqual(keys)
    }
  })

  it('has at most 512 bytes, and differs for different long keys', () => {
    const long = (end: string) => documentId(['é'.repeat(256) + end])!
    expect(long('')).toBe('é'.repeat(256))
    expect(Buffer.byteLength(long('a'))).toBeLessThan(100)
    expect(long('a')).not.toBe(long('b'))
    expect(documentId([long('a')])).not.toBe(long('a'))
    expect(keyOfId(long('a'), 1)).toBeNull()
  })

  it('does not exist for a key with NULL', () => {
    expect(documentId([null])).toBeNull()
    expect(documentId(['a', null])).toBeNull()
  })
})

function combinations(parts: readonly string[], count: number): string[][] {
  if (count === 0) return [[]]
  return combinations(parts, count - 1).flatMap((key) => parts.map((part) => [...key, part]))
}

describe('a bulk', () => {
  const encoder = (bytes: number, parallel = 1) =>
    new BulkEncoder({
      columns: ['id integer', 'body text'].map(toColumn),
      key: ['id'],
      mode: 'index',
      limits: { bytes, parallel },
    })
  const encode = (rows: string[][], bytes: number, parallel?: number) => {
    const one = encoder(bytes, parallel)
    const opened = one.open(RowBatch.ofRows(rows))
    return [...one.bulks(opened, batchId())]
  }

  it('holds every character of every text, whatever its escapes', () => {
    const nasty = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)).slice(1)
    const bodies = [
      ...nasty,
      nasty.join(''),
      '\\N',
      '\\\\n',
      '"'.repeat(100),
      `${'x'.repeat(60)}\n${'y'.repeat(60)}`,
      '😀\v',
    ]
    const [bulk] = encode(
      bodies.map((body, id) => [String(id), body]),
      10_000_000,
    )
    const lines = bulk!.bytes.toString().trimEnd().split('\n')
    expect(lines.filter((_, line) => line % 2 === 1).map((line) => JSON.parse(line).body)).toEqual(bodies)
  })

  it('exceeds its limit only if a single document does', () => {
    const rows = Array.from({ length: 100 }, (_, id) => [String(id), 'x'.repeat(id === 50 ? 5000 : 100)])
    const bulks = encode(rows, 2000)
    expect(bulks.flatMap((bulk) => bulk.rows)).toEqual(rows.map((_, row) => row))
    for (const { bytes, rows: held, ends } of bulks) {
      expect(bytes.length <= 2000 || held.length === 1).toBe(true)
      expect(ends.at(-1)).toBe(bytes.length)
      expect(bytes.at(-1)).toBe(0x0a)
    }
  })

  it('is split when a batch is large, so that several are sent in parallel', () => {
    const rows = Array.from({ length: 4000 }, (_, id) => [String(id), 'x'])
    expect(encode(rows, 10_000_000, 4).map((bulk) => bulk.rows.length)).toEqual([1000, 1000, 1000, 1000])
  })
})

it('a later batch has a greater version, and so has a later claim of a part, within a signed long', () => {
  const versions = [
    batchId(1, 1),
    { ...batchId(1, 1), part: 7, claim: 1, portion: 3 },
    { ...batchId(1, 1), part: 2, claim: 2, portion: 1 },
    { ...batchId(1, 1), part: 2, claim: 1_000, portion: 1 },
    batchId(2, 1),
    batchId(2 ** 31, 1),
    batchId(1, 2),
    batchId(1, 2 ** 31 - 1),
  ].map(versionOf)
  expect([...versions].sort((a, b) => (a < b ? -1 : 1))).toEqual(versions)
  expect(versions.at(-1)! < 2n ** 63n).toBe(true)
})

it('JSON is compared by what it means', () => {
  const same = (a: string, b: string) => normalJson(parseExact(a)) === normalJson(parseExact(b))
  expect(same('{"a":1.50,"b":[1e2]}', '{"b": [100.0], "a": 1.5}')).toBe(true)
  expect(same('9007199254740993', '9007199254740992')).toBe(false)
  expect(same('"1"', '1')).toBe(false)
  expect(same('"a\\"1,2"', '"a\\"1,2"')).toBe(true)
  expect(same('[1,2]', '[2,1]')).toBe(false)
  expect(parseExact('{"a":"\\\\\\" 12","b":[null,true]}')).toEqual({ a: '\\" 12', b: [null, true] })
})

it('a set of keys contains what was added, and nothing else', () => {
  const set = new KeySet()
  for (let at = 0; at < 20_000; at++) set.add(`key ${at % 10_000}`)
  expect(set.size).toBe(10_000)
  expect(Array.from({ length: 20_000 }, (_, at) => set.has(`key ${at}`)).filter(Boolean)).toHaveLength(10_000)
})
