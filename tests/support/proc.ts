import { readdirSync, readFileSync } from 'node:fs'

/** A process as Linux shows it. */
export interface ProcessInfo {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

/** All live descendants of `pid`; empty without /proc. */
export function descendantsOf(pid: number): ProcessInfo[] {
  const all = livingProcesses()
  const below = (parent: number): ProcessInfo[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)])
  return below(pid)
}

/** Also those whose parent died: a child inherits the environment. */
export function processesWith(variable: string, value: string): ProcessInfo[] {
  const wanted = `${variable}=${value}`
  return livingProcesses().filter(({ pid }) => read(`/proc/${pid}/environ`).split('\0').includes(wanted))
}

export function isAlive(pid: number): boolean {
  return livingProcesses().some((one) => one.pid === pid)
}

/** Frozen by SIGSTOP; it does nothing until SIGCONT. */
export function isStopped(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')
}

/** Every live process. */
export function livingProcesses(): ProcessInfo[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = read(`/proc/${name}/stat`)
      // The name in parentheses may itself contain spaces and parentheses, so count from the last one.
      const [state = 'X', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      // A zombie has exited; it only waits to be reaped.
      if (stat === '' || state === 'Z' || state === 'X') return []
      return [
        {
          pid: Number(name),
          parent: Number(parent),
          command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim(),
        },
      ]
    })
}

/** Empty for a process that exited meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
