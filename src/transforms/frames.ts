/** Lengths of header and payload, sent before both. */
export const LENGTHS = 8
/** The longest header of an answer, which does not include its rows. */
const MOST_HEADER = 16 * 1024 * 1024

export interface Frame {
  readonly header: unknown
  readonly payload: Buffer
}

/** Lengths of a JSON header and of a payload, then both. */
export function frameOf(header: object, payload: Buffer | null): Buffer[] {
  const text = Buffer.from(JSON.stringify(header))
  const lengths = Buffer.allocUnsafe(LENGTHS)
  lengths.writeUInt32BE(text.length, 0)
  lengths.writeUInt32BE(payload?.length ?? 0, 4)
  const head = Buffer.concat([lengths, text])
  return payload === null || payload.length === 0 ? [head] : [head, payload]
}

/** Reassembles frames from the chunks in which they arrive. */
export class FrameReader {
  #pieces: Buffer[] = []
  #length = 0
  #wanted = LENGTHS

  /** The frames completed by this chunk. Throws if it is not a frame: user code has written to the socket. */
  take(piece: Buffer): Frame[] {
    this.#pieces.push(piece)
    this.#length += piece.length
    const frames: Frame[] = []
    while (this.#length >= this.#wanted) {
      const bytes = this.#joined()
      const header = bytes.readUInt32BE(0)
      if (header > MOST_HEADER) throw new Error(`a header of ${header} bytes`)
      const whole = LENGTHS + header + bytes.readUInt32BE(4)
      this.#wanted = whole
      if (bytes.length < whole) break
      frames.push({
        header: JSON.parse(bytes.toString('utf8', LENGTHS, LENGTHS + header)),
        payload: bytes.subarray(LENGTHS + header, whole),
      })
      this.#keep(bytes.subarray(whole))
    }
    return frames
  }

  /** Joined only once a frame is complete, so that large ones are copied once. */
  #joined(): Buffer {
    const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    this.#pieces = [bytes]
    return bytes
  }

  #keep(rest: Buffer): void {
    this.#pieces = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    this.#wanted = LENGTHS
  }
}
