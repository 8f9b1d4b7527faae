import type { Overview, Runner } from '../api/wire.js'

export type RunnerState = 'alive' | 'silent' | 'ended'

/** The server counts a runner as alive for as long: see runners_alive of the overview. */
const SIGN_OF_LIFE_MS = 15_000

export function runnerStateOf(runner: Pick<Runner, 'stopped_at'>, silentMs: number): RunnerState {
  if (runner.stopped_at !== null) return 'ended'
  return silentMs <= SIGN_OF_LIFE_MS ? 'alive' : 'silent'
}

export interface Fleet {
  readonly alive: number
  readonly slots: number
  readonly busy: number
}

export function fleetOf(runners: readonly Runner[]): Fleet {
  const living = runners.filter((runner) => runnerStateOf(runner, runner.heartbeat_age_ms) === 'alive')
  return {
    alive: living.length,
    slots: living.reduce((sum, { concurrency }) => sum + concurrency, 0),
    busy: living.reduce((sum, { holds }) => sum + holds.length, 0),
  }
}

/** Pipelines that a runner would take. Who was disabled while it waited is waiting for somebody else. */
export function queuedIn({ items, summary }: Pick<Overview, 'items' | 'summary'>): number {
  const stuck = items.filter(({ enabled, status }) => !enabled && status === 'RUN_REQUESTED').length
  return Math.max(0, summary.queued - stuck)
}

/** Why nothing runs, or that nothing has to. */
export function waitingReason(queued: number, { alive, slots, busy }: Fleet) {
  if (alive === 0) return 'nobody'
  if (queued === 0) return 'calm'
  return busy >= slots ? 'busy' : 'soon'
}
