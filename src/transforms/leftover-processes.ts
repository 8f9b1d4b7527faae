import { readdir, readFile } from 'node:fs/promises'

/** Every host has a unique value in its environment; its child processes inherit it, regardless of their parent. */
export const MARKER = 'VITRINA_TASK_HOST'

/** Ends processes left behind by a host: its group and, on Linux, also those that left the group. */
export async function killLeftoverProcesses(host: number, marker: string): Promise<void> {
  kill(-host)
  if (process.platform !== 'linux') return
  // Twice: one of them may have started another one meanwhile.
  for (let round = 0; round < 2; round++) {
    const leftovers = await processesWith(`${MARKER}=${marker}`)
    if (leftovers.length === 0) return
    for (const pid of leftovers) kill(pid)
  }
}

async function processesWith(variable: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => hasVariable(pid, variable)))
  return pids.filter((_, index) => found[index]).map(Number)
}

/** False for a process of another host, and for one that has ended. */
async function hasVariable(pid: string, variable: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  return environment.split('\0').includes(variable)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
