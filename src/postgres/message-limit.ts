import type { Duplex } from 'node:stream'
import { VitrinaError } from '../model/errors.js'

const MEGABYTE = 1024 * 1024
const MAX_MESSAGE = 64 * MEGABYTE
/** The type byte, then the length as int32. The length includes itself but not the type. */
const HEADER = 5
const LENGTH = 4
/** CopyData carries rows of a transfer. pg-copy-streams passes them on in pieces and never holds a whole one. */
const COPY_DATA = 0x64

/**
 * Destroys a connection whose server announces a message above 64 MiB. pg builds a string of every message inside the
 * socket's handler; above 512 MiB that throws where nothing can catch it, and one error that quotes a large value ended
 * the process. The stream is the one that protocol messages arrive on: the TLS stream where TLS is on.
 */
export function limitMessages(stream: Duplex): void {
  const frames = new Frames()
  const push = stream.push.bind(stream)
  // Not a listener of 'data': pg-copy-streams expects pg to be the only one, and a listener would start the flow.
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (stream.destroyed) return false
    const size = chunk === null ? null : frames.follow(chunk)
    if (size === null) return push(chunk, encoding)
    stream.destroy(tooLarge(size))
    return false
  }
}

/** Follows the messages of a stream by their headers, without copying what is in them. */
class Frames {
  readonly #header = Buffer.alloc(HEADER)
  /** Bytes of the header that have arrived. */
  #known = 0
  /** Bytes of the current message that are still to come. */
  #left = 0

  /** The size of the first message that is too large, or null. */
  follow(chunk: Buffer): number | null {
    let at = this.#left
    const end = chunk.length
    while (at < end) {
      // Almost every header is in one piece. A stream of small rows has one every 80 bytes.
      const isWhole = this.#known === 0 && end - at >= HEADER
      if (!isWhole && !this.#gather(chunk, at)) {
        this.#left = 0
        return null
      }
      const header = isWhole ? chunk : this.#header
      const first = isWhole ? at : 0
      at += isWhole ? HEADER : HEADER - this.#known
      this.#known = 0
      const size = header.readUInt32BE(first + 1)
      if (size > MAX_MESSAGE && header[first] !== COPY_DATA) return size
      at += Math.max(0, size - LENGTH)
    }
    this.#left = at - end
    return null
  }

  /** Adds the chunk's part of a header that is split into several pieces; returns false when more is to come. */
  #gather(chunk: Buffer, at: number): boolean {
    const known = this.#known
    const copied = chunk.copy(this.#header, known, at)
    if (known + copied < HEADER) this.#known += copied
    return known + copied === HEADER
  }
}

function tooLarge(bytes: number): VitrinaError {
  return new VitrinaError(
    'DATABASE_MESSAGE_TOO_LARGE',
    `The database sent a message of ${bytes} bytes; the limit is ${MAX_MESSAGE} (64 MiB). The connection was closed.`,
    'Look for a value of this size in an error, a constant or a row that is read outside a transfer. If the size makes no sense, the server is not PostgreSQL.',
  )
}
