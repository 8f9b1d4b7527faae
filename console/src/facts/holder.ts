import type { Runner } from '../api/wire.js'
import { runnerStateOf } from './runners.js'

/** Whether the runner that has a run still works on it. */
export interface Holder {
  readonly state: 'alive' | 'silent'
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
  const isSilent = runnerStateOf(own, age(own)) !== 'alive' || leaseLeftMs === 0
  return {
    state: isSilent ? 'silent' : 'alive',
    silentMs: age(own),
    leaseLeftMs,
    others: runners.filter((each) => each !== own && runnerStateOf(each, age(each)) === 'alive').length,
  }
}
