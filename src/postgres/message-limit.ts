import type { Duplex } from 'node:stream'
import { VitrinaError } from '../model/errors.js'

const MEGABYTE = 1024 * 1024
const MAX_MESSAGE = 64 * MEGABYTE
/**
 * For sessions of the API, which read plans and the beginnings of values: the event loop parses what they read, and six
 * plans of 58 MB at the same time took 880 MB and blocked it for two seconds.
 */
export const SMALL_MESSAGE = 16 * MEGABYTE
/** The type byte, then the length as int32. The length includes itself but not the type. */
const HEADER = 5
const LENGTH = 4
/** CopyData carries rows of a transfer. CopyOut passes them on in pieces and never holds a whole one. */
const COPY_DATA = 0x64
const ERROR_RESPONSE = 0x45
const NOTICE_RESPONSE = 0x4e
/** An error or a notice above this is shortened. */
const LONG_REPORT = 64 * 1024
/** What is left of each of its fields. No message of Vitrina quotes as much. */
const MOST_OF_FIELD = 16 * 1024

/**
 * Destroys a connection whose server announces a message above 64 MiB, and shortens what is long in an error or a notice.
 * pg builds strings of every message inside the socket's handler. Above 512 MiB that throws where nothing can catch it, and
 * one error that quotes a large value ended the process; six errors of 60 MiB at the same time took more memory than a
 * container has. The stream is the one that protocol messages arrive on: the TLS stream where TLS is on.
 */
export function limitMessages(stream: Duplex, most: number = MAX_MESSAGE): void {
  const frames = new Frames(most)
  const push = stream.push.bind(stream)
  // Not a listener of 'data': CopyOut expects pg to be the only one, and a listener would start the flow.
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (stream.destroyed) return false
    if (chunk === null) return push(null)
    const size = frames.follow(chunk)
    if (size !== null) {
      stream.destroy(tooLarge(size))
      return false
    }
    return frames.take().reduce((_, piece) => push(piece, encoding), true)
  }
}

/** Follows the messages of a stream by their headers, without copying what is in them. */
class Frames {
  readonly #most: number
  readonly #header = Buffer.alloc(HEADER)
  /** Bytes of a split header that have arrived. They are held back until the rest has. */
  #known = 0
  /** Bytes of the current message that are still to come. */
  #left = 0
  /** Not null: the current message is a long error or notice. */
  #report: LongReport | null = null
  #pieces: Buffer[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** What can be passed on. */
  take(): readonly Buffer[] {
    const pieces = this.#pieces
    this.#pieces = []
    return pieces
  }

  /** The size of the first message that is too large, or null. */
  follow(chunk: Buffer): number | null {
    const end = chunk.length
    /** Everything before it has been passed on, or is held back. */
    let from = 0
    let at = 0
    for (;;) {
      if (this.#report !== null) {
        at = this.#shorten(this.#report, chunk, at)
        from = at
      } else {
        const next = at + this.#left
        at = Math.min(next, end)
        this.#left = next - at
      }
      if (at === end) break
      // Almost every header is in one piece. A stream of small rows has one every 80 bytes.
      const isWhole = this.#known === 0 && end - at >= HEADER
      const begin = at
      if (isWhole) at += HEADER
      else {
        this.#pass(chunk, from, at)
        at = this.#gather(chunk, at)
        from = at
        if (this.#known < HEADER) break
        this.#known = 0
      }
      const header = isWhole ? chunk : this.#header
      const first = isWhole ? begin : 0
      const type = header[first]!
      const size = header.readUInt32BE(first + 1)
      const isReport = type === ERROR_RESPONSE || type === NOTICE_RESPONSE
      // A report is shortened, so it costs nothing; it is still worth knowing what it says.
      if (size > (isReport ? MAX_MESSAGE : this.#most) && type !== COPY_DATA) return size
      this.#left = Math.max(0, size - LENGTH)
      if (isReport && size > LONG_REPORT) {
        if (isWhole) this.#pass(chunk, from, begin)
        this.#report = new LongReport(type)
        from = at
      } else if (!isWhole) this.#pieces.push(Buffer.from(this.#header))
    }
    this.#pass(chunk, from, at)
    return null
  }

  #pass(chunk: Buffer, from: number, to: number): void {
    if (to > from) this.#pieces.push(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to))
  }

  /** Adds the chunk's part of a header that is split into several pieces. */
  #gather(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#known, at)
    this.#known += copied
    return at + copied
  }

  #shorten(report: LongReport, chunk: Buffer, at: number): number {
    const stop = Math.min(chunk.length, at + this.#left)
    report.add(chunk.subarray(at, stop))
    this.#left -= stop - at
    if (this.#left === 0) {
      this.#pieces.push(report.message())
      this.#report = null
    }
    return stop
  }
}

/** An error or a notice, of which only the beginning of each field is kept. */
class LongReport {
  readonly #type: number
  readonly #parts: Buffer[] = []
  /** Bytes of the current field; null: the next byte is the type of a field, or the end. */
  #kept: number | null = null
  #isOver = false

  constructor(type: number) {
    this.#type = type
  }

  add(body: Buffer): void {
    let at = 0
    while (at < body.length && !this.#isOver) {
      if (this.#kept === null) {
        this.#isOver = body[at] === 0
        this.#parts.push(Buffer.from([body[at]!]))
        this.#kept = 0
        at += 1
        continue
      }
      const zero = body.indexOf(0, at)
      const end = zero < 0 ? body.length : zero
      const most = Math.min(end, at + MOST_OF_FIELD - this.#kept)
      // A copy: a part would keep the whole piece of the network in memory.
      this.#parts.push(Buffer.from(body.subarray(at, most)))
      this.#kept += most - at
      at = end
      if (zero < 0) continue
      this.#parts.push(Buffer.from([0]))
      this.#kept = null
      at += 1
    }
  }

  message(): Buffer {
    const body = Buffer.concat(this.#parts)
    const header = Buffer.alloc(HEADER)
    header[0] = this.#type
    header.writeUInt32BE(body.length + LENGTH, 1)
    return Buffer.concat([header, body])
  }
}

function tooLarge(bytes: number): VitrinaError {
  const most = bytes > MAX_MESSAGE ? MAX_MESSAGE : SMALL_MESSAGE
  return new VitrinaError(
    'DATABASE_MESSAGE_TOO_LARGE',
    `The database sent a message of ${bytes} bytes; the limit is ${most} (${most / MEGABYTE} MiB). The connection was closed.`,
    'Look for a value of this size in an error, a constant or a row that is read outside a transfer. If the size makes no sense, the server is not PostgreSQL.',
  )
}
