import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * Calls `gone` when the npx that started us has ended: it passes no signal on, and whoever ended it thinks that it
 * ended us. Between npx and us stands a shell that may live on, so its parent is watched too (on Linux).
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
