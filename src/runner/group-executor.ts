import type { Claim } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { MemberFailure } from '../model/member-failure.js'
import type { RepairKey } from '../model/run.js'
import type { GroupMember, GroupTransfer } from '../ports/transfer.js'
import { type AttemptOutcome, type ExecutorParts, type PipelineExecutor, requestedEnd } from './executor.js'
import type { GroupLease } from './lease.js'
import { toRunError } from './retry.js'

type Ended = Exclude<AttemptOutcome, 'RELEASED' | 'FAILED'>

interface Round {
  readonly claims: readonly Claim[]
  readonly lease: GroupLease
  readonly isStopping: () => boolean
}

/**
 * Runs one attempt of a group: every member is prepared, then computed in the transaction of the group, which is
 * published as a whole. The runs of its members begin and end together.
 */
export class GroupExecutor {
  readonly #parts: ExecutorParts
  readonly #executor: PipelineExecutor

  constructor(parts: ExecutorParts, executor: PipelineExecutor) {
    this.#parts = parts
    this.#executor = executor
  }

  async execute(round: Round): Promise<AttemptOutcome> {
    const early = requestedEnd(round.lease.control)
    if (early !== null) {
      await this.#end(round.claims, early)
      return early
    }
    for (;;) {
      const outcome = await this.#publish(round)
      if (outcome === 'RELEASED') return outcome
      // Rows to repair have arrived meanwhile.
      if (await this.#end(round.claims, outcome)) return outcome
    }
  }

  async #publish(round: Round): Promise<Ended | 'RELEASED'> {
    const { claims, lease } = round
    const members: (GroupMember & { readonly repairs: readonly RepairKey[] })[] = []
    for (const claim of claims) {
      const ledger = this.#executor.ledger(claim, lease.of(claim), null)
      members.push({ claim, ledger, repairs: await this.#parts.queue.toRepair(claim) })
    }
    const group = await this.#parts.transfers.openGroup(members, lease.signal)
    const reports: (() => void)[] = []
    try {
      failpoint('run.prepared')
      const report = (done: () => void) => reports.push(done)
      for (const { claim, repairs } of members) {
        const outcome = await this.#compute(claim, group, { ...round, repairs, report })
        if (outcome !== 'SUCCESS') return outcome
      }
      // Nothing is published after a request to end.
      await lease.refresh()
      const requested = requestedEnd(lease.control)
      if (requested !== null) return requested
      await group.publish()
    } finally {
      await group.close()
    }
    for (const report of reports) report()
    for (const { claim, repairs } of members)
      if (repairs.length > 0) await this.#prove(claim, repairs, lease.signal)
    return 'SUCCESS'
  }

  async #compute(
    claim: Claim,
    group: GroupTransfer,
    round: Parameters<PipelineExecutor['compute']>[2],
  ): Promise<Ended | 'RELEASED'> {
    try {
      return (await this.#executor.compute(claim, await group.open(claim), round)) as Ended | 'RELEASED'
    } catch (error) {
      round.lease.signal.throwIfAborted()
      throw new MemberFailure(claim, toRunError(error))
    }
  }

  async #prove(claim: Claim, keys: readonly RepairKey[], signal: AbortSignal): Promise<void> {
    try {
      await this.#executor.prove(claim, keys, signal)
    } catch (error) {
      throw new MemberFailure(claim, toRunError(error))
    }
  }

  /** False: one of them has just received rows to repair, so the group continues. */
  async #end(claims: readonly Claim[], status: Ended): Promise<boolean> {
    failpoint('run.finishing')
    const totals = await this.#parts.queue.finishGroup(claims.map((claim) => ({ claim, end: { status } })))
    failpoint('run.finished')
    if (totals === null) return false
    for (const [n, claim] of claims.entries()) this.#parts.events.runEnded(claim, { status }, totals[n]!)
    return true
  }
}
