import { descendantsOf } from './proc.js'

/** Children that the files of this process share, and that end with it. */
const kept = new Set<number>()

/** Runs `start` and keeps the child processes that it leaves: for leaks.ts they are not left behind. */
export async function keepProcesses<T>(start: () => Promise<T>): Promise<T> {
  const before = new Set(children())
  const started = await start()
  for (const pid of children()) if (!before.has(pid)) kept.add(pid)
  return started
}

/** With their own children. */
export function keptProcesses(): Set<number> {
  const below = [...kept].flatMap((pid) => descendantsOf(pid).map((one) => one.pid))
  return new Set([...kept, ...below])
}

function children(): number[] {
  return descendantsOf(process.pid)
    .filter(({ parent }) => parent === process.pid)
    .map(({ pid }) => pid)
}
