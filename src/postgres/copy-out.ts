import { Readable } from 'node:stream'
import type pg from 'pg'

/** The type byte, then the length as int32. The length includes itself but not the type. */
const HEADER = 5
const LENGTH = 4
const COPY_DATA = 0x64
const COPY_DONE = 0x63
/** CopyOutResponse, and what a server may send at any time: ParameterStatus, NoticeResponse, NotificationResponse. */
const SKIPPED: ReadonlySet<number> = new Set([0x48, 0x53, 0x4e, 0x41])

/**
 * The rows of COPY … TO STDOUT as a query of pg. A server sends each row as a separate message. They are joined in
 * place, in the buffer that they arrived in: pg-copy-streams makes an object of every row, which took a third of the
 * CPU time of a runner that fills an empty mart.
 */
export class CopyOut extends Readable {
  readonly #text: string
  #connection: pg.Connection | null = null
  /** The listener of pg. It gets everything that follows the rows. */
  #listener: ((chunk: Buffer) => void) | null = null
  readonly #header = Buffer.alloc(HEADER)
  /** Bytes of a split header that have arrived. */
  #known = 0
  #isData = false
  /** Bytes of the current message that are still to come. */
  #left = 0
  #isWanted = false
  #isForwarding = false

  constructor(text: string) {
    super()
    this.#text = text
  }

  /** Called by pg when it is the turn of this query. */
  submit(connection: pg.Connection): void {
    this.#connection = connection
    const { stream } = connection
    const [listener, ...others] = stream.listeners('data') as ((chunk: Buffer) => void)[]
    if (listener === undefined || others.length > 0) throw new Error('Another listener reads the connection.')
    this.#listener = listener
    stream.off('data', listener).pause()
    stream.on('readable', this.#forward)
    this.#forward()
    connection.query(this.#text)
  }

  /** Called by pg. */
  handleError(error: Error): void {
    this.emit('error', error)
  }

  /** Called by pg. */
  handleCommandComplete(): void {}

  /** Called by pg. */
  handleReadyForQuery(): void {}

  override _read(): void {
    this.#isWanted = true
    this.#forward()
  }

  readonly #forward = (): void => {
    if (this.#isForwarding) return
    this.#isForwarding = true
    while (this.#isWanted && this.#listener !== null) {
      const chunk: Buffer | null = this.#connection!.stream.read()
      if (chunk === null) break
      this.#take(chunk)
    }
    this.#isForwarding = false
  }

  #take(chunk: Buffer): void {
    const end = chunk.length
    let at = 0
    /** Where the rows of this chunk end so far: they move to its beginning, over headers that have been read. */
    let rows = 0
    while (at < end) {
      if (this.#left > 0) {
        const next = Math.min(end, at + this.#left)
        this.#left -= next - at
        if (this.#isData) {
          if (rows !== at) chunk.copyWithin(rows, at, next)
          rows += next - at
        }
        at = next
        continue
      }
      // Almost every header is in one piece.
      const isWhole = this.#known === 0 && end - at >= HEADER
      const begin = at
      if (isWhole) at += HEADER
      else {
        const copied = chunk.copy(this.#header, this.#known, at)
        at += copied
        this.#known += copied
        if (this.#known < HEADER) break
        this.#known = 0
      }
      const header = isWhole ? chunk : this.#header
      const first = isWhole ? begin : 0
      const type = header[first]!
      this.#isData = type === COPY_DATA
      if (!this.#isData && !SKIPPED.has(type)) {
        this.#pass(chunk, rows)
        if (type === COPY_DONE) this.#end(chunk.subarray(at))
        // An error: pg reports it.
        else this.#leave(isWhole ? chunk.subarray(begin) : Buffer.concat([this.#header, chunk.subarray(at)]))
        return
      }
      this.#left = header.readUInt32BE(first + 1) - LENGTH
    }
    this.#pass(chunk, rows)
  }

  #pass(chunk: Buffer, rows: number): void {
    if (rows > 0) this.#isWanted = this.push(chunk.subarray(0, rows))
  }

  #end(rest: Buffer): void {
    this.#leave(rest)
    this.push(null)
  }

  /** Gives the connection back to pg, with what was read too far. */
  #leave(rest: Buffer): void {
    const { stream } = this.#connection!
    const listener = this.#listener!
    this.#listener = null
    stream.off('readable', this.#forward)
    stream.on('data', listener)
    listener(rest)
    // What `listener` did may have paused it.
    process.nextTick(() => stream.resume())
  }
}
