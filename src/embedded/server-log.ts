import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/** Enough for a stack of FATAL, DETAIL and HINT lines, short enough to be read in a terminal. */
const TAIL_LINES = 12
const TAIL_BYTES = 8 * 1024

/**
 * What initdb and the server print. They get the descriptor, not the path: the account they run as
 * may not be able to reach the folder.
 */
export class ServerLog {
  readonly path: string
  readonly fd: number

  private constructor(path: string, fd: number) {
    this.path = path
    this.fd = fd
  }

  /** A new file each time. Removed and made exclusively: root must not follow a link somebody left there. */
  static async open(path: string): Promise<ServerLog> {
    await rm(path, { force: true })
    // 'a': the guard cuts the file when it is too long, and only appending writers then start again at 0.
    return new ServerLog(path, openSync(path, 'ax+', 0o600))
  }

  get size(): number {
    return fstatSync(this.fd).size
  }

  /** The last lines, or those after the byte `from`. */
  tail(from = 0): string {
    const start = Math.max(from, this.size - TAIL_BYTES)
    const buffer = Buffer.alloc(Math.max(0, this.size - start))
    const length = readSync(this.fd, buffer, 0, buffer.length, start)
    return buffer.toString('utf8', 0, length).trim().split('\n').slice(-TAIL_LINES).join('\n')
  }

  close(): void {
    closeSync(this.fd)
  }
}
