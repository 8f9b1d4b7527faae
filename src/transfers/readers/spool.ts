import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VitrinaError } from '../../model/errors.js'
import { RowBatch } from '../../sql/row-batch.js'

const NEWLINE = 0x0a
const READ_BYTES = 1024 * 1024

/** Rows that wait in an unlinked file: when the process ends, for whatever reason, nothing remains of it. */
export class Spool {
  readonly #file: FileHandle
  readonly #size: number
  #at = 0
  #ahead = Buffer.alloc(0)

  private constructor(file: FileHandle, size: number) {
    this.#file = file
    this.#size = size
  }

  static async of(lines: AsyncIterable<Buffer>): Promise<Spool> {
    const file = await unlinkedFile()
    try {
      let size = 0
      for await (const chunk of lines) {
        await file.writev([chunk])
        size += chunk.length
      }
      return new Spool(file, size)
    } catch (error) {
      await file.close()
      throw spoolError(error)
    }
  }

  /** The next rows, at most `limit` and about `bytes`; none: the end. */
  async read(limit: number, bytes: number): Promise<{ rows: RowBatch; isLast: boolean }> {
    let end = 0
    let count = 0
    while (count < limit && end < bytes) {
      const newline = this.#ahead.indexOf(NEWLINE, end)
      if (newline >= 0) {
        end = newline + 1
        count += 1
      } else if (!(await this.#fill())) break
    }
    const rows = RowBatch.ofLines(this.#ahead.subarray(0, end), count)
    this.#ahead = this.#ahead.subarray(end)
    return { rows, isLast: this.#at === this.#size && this.#ahead.length === 0 }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  /** Reads more of the file; false: nothing is left. The buffer grows with a value that is longer than it. */
  async #fill(): Promise<boolean> {
    const wanted = Math.min(Math.max(READ_BYTES, this.#ahead.length), this.#size - this.#at)
    if (wanted === 0) return false
    const more = Buffer.allocUnsafe(wanted)
    const { bytesRead } = await this.#file.read(more, 0, wanted, this.#at)
    this.#at += bytesRead
    this.#ahead = Buffer.concat([this.#ahead, more.subarray(0, bytesRead)])
    return bytesRead > 0
  }
}

async function unlinkedFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-spool-'))
  try {
    return await open(join(folder, 'rows'), 'w+', 0o600)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function spoolError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new VitrinaError(
    'INTERNAL',
    `No space left in ${tmpdir()} for the rows of the source.`,
    'Free some space, or set TMPDIR of the runner to a folder with more.',
    { cause: error },
  )
}
