import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * Calls `gone` when the npx that started this process has exited: npx forwards no signal, and the process that ended
 * npx expects this one to end too. Between npx and this process is a shell that may survive, so its parent is watched
 * too (on Linux).
 */
export function watchNpx(gone: () => void): () => void {
  if (process.env.npm_lifecycle_event !== 'npx') return () => {}
  const before = ancestors()
  const timer = setInterval(() => {
    if (ancestors() === before) return
    clearInterval(timer)
    gone()
  }, POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function ancestors(): string {
  const parent = process.ppid
  return `${parent} ${process.platform === 'linux' ? parentOf(parent) : ''}`
}

function parentOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 'gone'
  } catch {
    return 'gone'
  }
}
