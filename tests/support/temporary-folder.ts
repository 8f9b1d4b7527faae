import { chmodSync, rmSync } from 'node:fs'
import { makeMemoryFolder } from './memory-folder.js'

/**
 * Run by vitest once, before all else: temporary files of this run are in memory where there is enough. Elasticsearch,
 * ClickHouse and embedded servers create thousands of small files, and on a disk that costs a tenth of the CPU time.
 */
export function setup(): (() => void) | undefined {
  const before = process.env.TMPDIR
  const { path, isInMemory } = makeMemoryFolder('vitrina-tmp')
  if (!isInMemory) {
    rmSync(path, { recursive: true })
    return
  }
  // As open as the system's own: some servers run under another account.
  chmodSync(path, 0o1777)
  process.env.TMPDIR = path
  return () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
}
