import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { CopyOut } from './copy-out.js'

/** A message of the server. */
function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${type}....`), Buffer.from(body)])
  bytes.writeUInt32BE(bytes.length - 1, 1)
  return bytes
}

const ROWS = [
  Buffer.alloc(0),
  Buffer.from('a'),
  Buffer.alloc(300, 'b'),
  Buffer.alloc(5000, 'd'),
  Buffer.from('Ed'),
]
const COPY = [
  message('H', '\0\0\0'),
  message('d', ROWS[0]!),
  message('d', ROWS[1]!),
  message('N', 'SNOTICE\0\0'),
  message('d', ROWS[2]!),
  message('S', 'TimeZone\0UTC\0'),
  message('d', ROWS[3]!),
  message('d', ROWS[4]!),
]
const PIECES = [1, 2, 3, 4, 5, 6, 7, 64, 1000, 100_000]

/** What a stream of COPY returns, and what is left to pg, if the server sends these bytes in pieces. */
async function copied(messages: readonly Buffer[], piece: number): Promise<{ rows: Buffer; rest: Buffer }> {
  const bytes = Buffer.concat(messages)
  const stream = new PassThrough()
  const rest: Buffer[] = []
  stream.on('data', (chunk: Buffer) => rest.push(chunk))
  const rows: Buffer[] = []
  const copy = new CopyOut('COPY … TO STDOUT')
  copy.on('data', (chunk: Buffer) => rows.push(chunk))
  copy.submit({ stream, query: () => {} } as never)
  for (let at = 0; at < bytes.length; at += piece) {
    stream.write(bytes.subarray(at, at + piece))
    await new Promise(setImmediate)
  }
  stream.end()
  while (!stream.readableEnded) await new Promise(setImmediate)
  return { rows: Buffer.concat(rows), rest: Buffer.concat(rest) }
}

it.each(PIECES)(
  'rows that arrive in pieces of %i are joined, and what follows them is left to pg',
  async (piece) => {
    const end = [message('C', 'COPY 5\0'), message('Z', 'I')]
    const found = await copied([...COPY, message('c', ''), ...end], piece)
    expect(found.rows.equals(Buffer.concat(ROWS))).toBe(true)
    expect(found.rest).toEqual(Buffer.concat(end))
  },
)

it.each(PIECES)('an error between rows that arrive in pieces of %i is left to pg', async (piece) => {
  const end = [message('E', 'SERROR\0C22012\0Mdivision by zero\0\0'), message('Z', 'I')]
  const found = await copied([...COPY, ...end], piece)
  expect(found.rows.equals(Buffer.concat(ROWS))).toBe(true)
  expect(found.rest).toEqual(Buffer.concat(end))
})
