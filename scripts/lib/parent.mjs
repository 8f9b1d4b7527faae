import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * Ends this process as Ctrl-C would when the npm that started it is gone: after SIGKILL it cannot pass a signal on.
 * Between npm and this process is a shell that may survive, so its parent is watched too (on Linux). Without npm
 * nothing is watched: `nohup node scripts/demo.mjs &` must outlive its terminal.
 */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return
  const before = ancestors()
  const timer = setInterval(() => {
    if (ancestors() === before) return
    // Once: a second signal would request an immediate end.
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS)
  timer.unref()
}

function ancestors() {
  const parent = process.ppid
  return `${parent} ${process.platform === 'linux' ? parentOf(parent) : ''}`
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
  } catch {
    return 'gone'
  }
}
