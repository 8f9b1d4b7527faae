import { readdir, readFile } from 'node:fs/promises'

/** Every host has a unique value in its environment; its child processes inherit it, regardless of their parent. */
export const HOST_MARKER = 'VITRINA_TASK_HOST'

/** A chain of forks is caught long before; a machine on which processes end all the time must not block a run. */
const MAX_SCANS = 50

interface ProcessScan {
  readonly found: readonly number[]
  /** Processes whose environment cannot be read: ended meanwhile, of another user, or part of the kernel. */
  readonly unreadable: ReadonlySet<number>
}

/** Ends processes left behind by a host: its group and, on Linux, also those that left the group. */
export async function killLeftoverProcesses(host: number, marker: string): Promise<void> {
  kill(-host)
  if (process.platform !== 'linux') return
  let before: ProcessScan | null = null
  for (let round = 0; round < MAX_SCANS; round++) {
    const scan = await processesWith(`${HOST_MARKER}=${marker}`)
    for (const pid of scan.found) kill(pid)
    if (before !== null && provesNone(scan, before)) return
    before = scan
  }
}

/**
 * An empty scan alone proves nothing: a process that forks and exits while /proc is read is listed but unreadable, and
 * its child is not listed. Once in hundreds of closed hosts a detached process survived.
 */
function provesNone({ found, unreadable }: ProcessScan, before: ProcessScan): boolean {
  return found.length === 0 && [...unreadable].every((pid) => before.unreadable.has(pid))
}

async function processesWith(variable: string): Promise<ProcessScan> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const environments = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')),
  )
  return {
    found: pids.filter((_, index) => environments[index]!.split('\0').includes(variable)),
    unreadable: new Set(pids.filter((_, index) => environments[index] === '')),
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
