import { readdirSync, readFileSync } from 'node:fs'

/** Kills every process that has this in its environment: after Ctrl-C some would outlive the tests that started them. */
export function endAll(mark) {
  if (process.platform !== 'linux') return
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark))
        process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, or belongs to another account.
    }
}
