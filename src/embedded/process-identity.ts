import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 15

export function areWeRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * Distinguishes a process from a later one with the same pid: its start time, on Linux with the boot id. Null if it is
 * gone; a zombie counts as gone, it only waits to be reaped.
 */
export function identityOf(pid: number): string | null {
  return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid)
}

function linuxIdentity(pid: number): string | null {
  const text = readProc(`/proc/${pid}/stat`)
  if (text === null) return null
  // The name in parentheses may contain spaces and parentheses, so parse from the last one.
  const [state, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  const startTime = rest[18]
  return `${readProc('/proc/sys/kernel/random/boot_id')?.trim()}:${startTime}`
}

/** Synchronous on purpose: an asynchronous read of /proc queues behind the file system work of the whole process. */
function readProc(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function psIdentity(pid: number): string | null {
  try {
    const options = { encoding: 'utf8', stdio: 'pipe' } as const
    const [state, ...start] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options)
      .trim()
      .split(/\s+/)
    return state === undefined || state === '' || state.startsWith('Z') ? null : start.join(' ')
  } catch {
    return null
  }
}

/** Returns false if the process is still alive after `ms`. */
export async function waitUntilGone(pid: number, identity: string, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  while (identityOf(pid) === identity) {
    if (performance.now() > deadline) return false
    await delay(POLL_MS)
  }
  return true
}
