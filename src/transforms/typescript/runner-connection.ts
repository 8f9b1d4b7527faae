import { read, write } from 'node:fs'
import { promisify } from 'node:util'
import { type Frame, frameOf, LENGTHS } from '../frames.js'
import type { HostAnswer } from '../host.js'
import type { HostEvent } from '../host-event.js'

const readSome = promisify(read)
const writeSome = promisify(write)

/**
 * The connection to the runner. Uses blocking calls in threads of the runtime's pool: a stream would deliver the same
 * bytes in pieces of 64 kB, each with an event and a copy.
 */
export class RunnerConnection {
  readonly #questions: number
  readonly #answers: number
  #written: Promise<void> = Promise.resolve()

  constructor(questions: number, answers: number) {
    this.#questions = questions
    this.#answers = answers
  }

  /** Null when the runner has closed the connection. */
  async receive(): Promise<Frame | null> {
    const lengths = await this.#read(LENGTHS)
    const header = lengths && (await this.#read(lengths.readUInt32BE(0)))
    const payload = lengths && (await this.#read(lengths.readUInt32BE(4)))
    if (header === null || payload === null) return null
    return { header: JSON.parse(header.toString('utf8')), payload }
  }

  /** Sends in call order. Resolves when the data is written; never rejects: `receive` notices a runner that is gone. */
  send(header: HostAnswer | HostEvent, payload: Buffer | null = null): Promise<void> {
    const pieces = frameOf(header, payload)
    this.#written = this.#written.then(() => this.#write(pieces)).catch(() => {})
    return this.#written
  }

  async #read(length: number): Promise<Buffer | null> {
    // Its own memory, not the pool's: it is transferred to another thread.
    const buffer = Buffer.from(new ArrayBuffer(length))
    for (let at = 0; at < length; ) {
      const { bytesRead } = await readSome(this.#questions, buffer, at, length - at, null)
      if (bytesRead === 0) return null
      at += bytesRead
    }
    return buffer
  }

  async #write(pieces: readonly Buffer[]): Promise<void> {
    for (const piece of pieces)
      for (let at = 0; at < piece.length; )
        at += (await writeSome(this.#answers, piece, at, piece.length - at, null)).bytesWritten
  }
}
