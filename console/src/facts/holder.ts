import type { Runner } from '../api/wire.js'
import { runnerStateOf } from './runners.js'

/** Whether the runner that has a run still works on it. */
export interface Holder {
  /** stopped: it ended in order and holds the run no longer. */
  readonly state: 'alive' | 'silent' | 'stopped'
  /** Since its last sign of life. */
  readonly silentMs: number
  /** Until somebody else may take the run over; 0: now. Null: not known. */
  readonly leaseLeftMs: number | null
  /** Other runners that could take it over. */
  readonly others: number
}

/** Null: nothing is known of it, and so nothing is claimed. */
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

/** Whether the run waits for a runner after its newest attempt was handed back. */
export function isHandedBack(run: {
  readonly attempt: number
  readonly finished_at: string | null
  readonly attempt_history: readonly { readonly attempt: number }[]
}): boolean {
  return run.finished_at === null && run.attempt_history.at(-1)?.attempt === run.attempt
}
