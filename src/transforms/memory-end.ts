import type { Gone } from './host.js'

/** A host that exceeds its memory limit exits immediately with this, while its function is still running. */
export const OVER_MEMORY: NodeJS.Signals = 'SIGUSR2'

export const OUT_OF_MEMORY: Gone = {
  how: 'used more memory than VITRINA_TASK_MEMORY_MB allows',
  why: 'memory',
}
