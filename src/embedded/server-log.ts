import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/** Enough for several FATAL, DETAIL and HINT lines, short enough for a terminal. */
const TAIL_LINES = 12
const TAIL_BYTES = 8 * 1024

/**
 * The output of initdb and the server. They get the descriptor, not the path: their account may not be able to reach
 * the folder.
 */
export class ServerLog {
  readonly path: string
  readonly fd: number

  private constructor(path: string, fd: number) {
    this.path = path
    this.fd = fd
  }

  /** A new file each time. Removed and created exclusively: root must not follow a link planted there. */
  static async open(path: string): Promise<ServerLog> {
    await rm(path, { force: true })
    // 'a': the guard truncates the file when it is too long, and only appending writers then continue at 0.
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
