import type { Overview, Runner } from '../api/wire.js'

export type RunnerState = 'alive' | 'silent' | 'ended'

/** As on the server: see runners_alive of the overview. */
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

/** Queued pipelines that a runner can claim. A pipeline that was disabled while queued is not one of them. */
export function queuedIn({ items, summary }: Pick<Overview, 'items' | 'summary'>): number {
  const stuck = items.filter(({ enabled, status }) => !enabled && status === 'RUN_REQUESTED').length
  return Math.max(0, summary.queued - stuck)
}

/** Why queued pipelines wait. */
export function waitingReason(queued: number, { alive, slots, busy }: Fleet) {
  if (alive === 0) return 'noRunner'
  if (queued === 0) return 'idle'
  return busy >= slots ? 'busy' : 'soon'
}
