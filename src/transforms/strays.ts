import { readdir, readFile } from 'node:fs/promises'

/** Every host has its own value in its environment; what it starts inherits it, whoever adopts it. */
export const MARKER = 'VITRINA_TASK_HOST'

/** Ends what a host left behind: its group, and on Linux also what left the group. */
export async function killStrays(host: number, marker: string): Promise<void> {
  kill(-host)
  if (process.platform !== 'linux') return
  // Twice: one of them may have started another one while we looked.
  for (let round = 0; round < 2; round++) {
    const strays = await processesWith(`${MARKER}=${marker}`)
    if (strays.length === 0) return
    for (const pid of strays) kill(pid)
  }
}

async function processesWith(variable: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => hasVariable(pid, variable)))
  return pids.filter((_, index) => found[index]).map(Number)
}

/** False for a process of somebody else, and for one that ended meanwhile. */
async function hasVariable(pid: string, variable: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  return environment.split('\0').includes(variable)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
