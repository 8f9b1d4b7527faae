import type { Capacity, Claim, Control } from '../model/claim.js'
import type { VitrinaError } from '../model/errors.js'
import type { OpenPart, PartClaim, PartPlan, PartRecord, PartStates } from '../model/part.js'
import type { MetaSession } from './run-queue.js'

/** Which part a runner may take. */
export interface PartRequest {
  readonly runnerId: string
  readonly leaseSeconds: number
  /** Null: of any run. */
  readonly runId: string | null
  /** Free slots by tag; null: every pipeline is taken. The holder of a run has a slot for it already. */
  readonly free: Capacity['free']
  /** A run counts at the limits of its connections once for each part in progress. */
  readonly limits: Capacity['limits']
}

/** The parts of a run that an engine outside the runners executes. */
export interface EngineParts {
  /** Parts that the engine has not committed yet. */
  readonly open: number
  readonly done: readonly { readonly part: number; readonly record: PartRecord }[]
  /** Parts that it left to runners, and why. */
  readonly handedOver: readonly { readonly part: number; readonly reason: string }[]
}

/**
 * The parts of runs as runners see them. Methods that take a claim or a part prove it by fence, lease and attempt, and
 * throw LEASE_LOST if it is no longer theirs.
 */
export interface PartQueue {
  /** Slots of living runners that no run and no part uses. */
  freeSlots(): Promise<number>
  /** The parts that a run of this pipeline was cut into; empty: none. */
  partsOf(runId: string): Promise<OpenPart[]>
  /** Stores the parts of a run. None can be claimed before `openParts`. */
  storeParts(claim: Claim, parts: readonly OpenPart[]): Promise<void>
  /** Parts that failed or that an earlier holder's runners have claimed are free again. */
  openParts(claim: Claim, plan: PartPlan): Promise<void>
  /** Parts that runners claimed for an earlier holder of the run, and whose leases have not ended. */
  earlierClaims(claim: Claim): Promise<number>
  partStates(claim: Claim): Promise<PartStates>
  /** Parts that are being executed now. */
  busyParts(claim: Claim): Promise<number>
  /** Claims an open part, or one whose runner is silent. Null: nothing to do. */
  claimPart(request: PartRequest): Promise<PartClaim | null>
  renewPart(part: PartClaim, leaseSeconds: number): Promise<Control>
  /** With `session`, inside the transaction of the rows; otherwise after it. */
  partDone(part: PartClaim, record: PartRecord, session: MetaSession | null): Promise<void>
  partFailed(part: PartClaim, error: VitrinaError): Promise<void>
  /** Any runner may take it at once. */
  releasePart(part: PartClaim): Promise<void>
  engineParts(claim: Claim): Promise<EngineParts>
  /** Parts that an engine was working on when it ended are free again: their claims cannot commit any more. */
  freeEngineParts(claim: Claim): Promise<void>
  /** Ends sessions of runners that froze in a part and whose lease has expired: they hold locks. */
  endFrozenParts(): Promise<void>
}
