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

  it('reads a length above 2 GiB correctly', async () => {
    await expect(through(message('E', 10, 0xffff_ffff), 64)).rejects.toThrow('4294967295 bytes')
  })

  it('passes rows of a transfer of any length', async () => {
    const row = message('d', 65 * MEGABYTE)
    const bytes = Buffer.concat([row, message('C', 5)])
    expect((await through(bytes, 100_000)).equals(bytes)).toBe(true)
  })
})
