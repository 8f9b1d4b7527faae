import type { Runner } from '../api/wire.js'
import { runnerStateOf } from './runners.js'

/** Whether the runner that holds a run is still working on it. */
export interface Holder {
  /** stopped: it shut down and released the run. */
  readonly state: 'alive' | 'silent' | 'stopped'
  /** Time since its last heartbeat. */
  readonly silentMs: number
  /** Time until another runner may claim the run; 0: now. Null: unknown. */
  readonly leaseLeftMs: number | null
  /** Other runners that could claim it. */
  readonly others: number
}

/** Null: unknown. */
export function holderOf(
  run: { readonly id: string; readonly runner_id: string | null },
  runners: readonly Runner[],
  now: number,
): Holder | null {
  const age = ({ heartbeat_at }: Runner) => Math.max(0, now - Date.parse(heartbeat_at))
  const own = runners.find(({ id }) => id === run.runner_id)
  if (own === undefined) return null
  const lease = own.holds.find(({ run_id }) => run_id === run.id)?.lease_until ?? null
  const leaseLeftMs = lease === null ? null : Math.max(0, Date.parse(lease) - now)
  const state = runnerStateOf(own, age(own))
  return {
    state:
      state === 'ended' && lease === null
        ? 'stopped'
        : state !== 'alive' || leaseLeftMs === 0
          ? 'silent'
          : 'alive',
    silentMs: age(own),
    leaseLeftMs,
    others: runners.filter((each) => each !== own && runnerStateOf(each, age(each)) === 'alive').length,
  }
}

/** Whether the run waits for a runner because the last one released it. */
export function isReleased(run: {
  readonly attempt: number
  readonly finished_at: string | null
  readonly attempt_history: readonly { readonly attempt: number }[]
}): boolean {
  return run.finished_at === null && run.attempt_history.at(-1)?.attempt === run.attempt
}
