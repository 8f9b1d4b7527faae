import type { Claim } from './claim.js'
import type { VitrinaError } from './errors.js'

/** What ends the attempt of a group, and the member that it concerns. */
export class MemberFailure extends Error {
  readonly claim: Claim
  override readonly cause: VitrinaError

  constructor(claim: Claim, cause: VitrinaError) {
    super(cause.message)
    this.claim = claim
    this.cause = cause
  }
}
