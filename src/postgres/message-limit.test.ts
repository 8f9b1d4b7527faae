import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { limitMessages } from './message-limit.js'

const MEGABYTE = 1024 * 1024

function message(type: string, body: number, announced = body + 4): Buffer {
  const bytes = Buffer.alloc(5 + body, type)
  bytes.writeUInt32BE(announced, 1)
  return bytes
}

/** What comes out of a limited stream that gets the bytes in pieces of this size. */
async function through(bytes: Buffer, piece: number): Promise<Buffer> {
  const stream = new PassThrough()
  limitMessages(stream)
  for (let at = 0; at < bytes.length && !stream.destroyed; at += piece)
    stream.write(bytes.subarray(at, at + piece))
  stream.end()
  return Buffer.concat(await stream.toArray())
}

describe('limitMessages', () => {
  const honest = [
    message('Z', 1),
    message('D', 0),
    message('d', 300),
    message('1', 0),
    message('D', 70),
    message('E', 9),
  ]

  it.each([1, 2, 3, 4, 5, 6, 7, 64, 1000])('passes every byte in pieces of %i', async (piece) => {
    const bytes = Buffer.concat([...honest, ...honest])
    expect(await through(bytes, piece)).toEqual(bytes)
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 64, 1000])('finds a header in pieces of %i', async (piece) => {
    const bytes = Buffer.concat([...honest, message('E', 10, 65 * MEGABYTE)])
    await expect(through(bytes, piece)).rejects.toMatchObject({ code: 'DATABASE_MESSAGE_TOO_LARGE' })
  })

  /** An error or a notice with these fields, each cut to this length. */
  function report(type: string, lengths: readonly number[], most: number): Buffer {
    const fields = lengths.map((length, n) => `${'SCMDHPW'[n]}${String(n).repeat(Math.min(length, most))}\0`)
    const body = Buffer.from(`${fields.join('')}\0`)
    const bytes = message(type, body.length)
    body.copy(bytes, 5)
    return bytes
  }

  it.each([1, 3, 5, 6, 7, 1000, 16_385, 65_536])(
    'shortens the long parts of a long error or notice in pieces of %i, and nothing else',
    async (piece) => {
      const whole = Number.POSITIVE_INFINITY
      const long = [5, 0, 50_000, 16_384, 16_385, 3, 70_000]
      const short = [5, 30_000, 30_000]
      const all = (most: number) =>
        Buffer.concat([
          ...honest,
          report('E', long, most),
          report('N', short, whole),
          message('D', 100_000),
          report('N', long, most),
          report('E', long, most),
          ...honest,
        ])
      expect((await through(all(whole), piece)).equals(all(16_384))).toBe(true)
    },
  )

  it('reads a length above 2 GiB correctly', async () => {
    await expect(through(message('E', 10, 0xffff_ffff), 64)).rejects.toThrow('4294967295 bytes')
  })

  it('passes rows of a transfer of any length', async () => {
    const row = message('d', 65 * MEGABYTE)
    const bytes = Buffer.concat([row, message('C', 5)])
    expect((await through(bytes, 100_000)).equals(bytes)).toBe(true)
  })
})
