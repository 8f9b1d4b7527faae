import type { Gone } from './host.js'

/** A host that takes too much memory ends itself with it at once, in the middle of whatever its function does. */
export const OVER_MEMORY: NodeJS.Signals = 'SIGUSR2'

export const OUT_OF_MEMORY: Gone = {
  how: 'took more memory than VITRINA_TASK_MEMORY_MB allows',
  why: 'memory',
}
