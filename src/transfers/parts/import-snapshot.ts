import { VitrinaError } from '../../model/errors.js'
import type { PartClaim } from '../../model/part.js'
import type { Session } from '../../postgres/session.js'
import { quoteLiteral } from '../../sql/identifiers.js'
import { sqlstateOf } from '../../sql/sqlstate.js'

/** Imports the snapshot of the run into the transaction that the session has just begun. */
export async function importSnapshot(session: Session, claim: PartClaim): Promise<void> {
  await session.run(`SET TRANSACTION SNAPSHOT ${quoteLiteral(claim.plan.snapshot)}`).catch((error) => {
    if (sqlstateOf(error) === null) throw error
    throw new VitrinaError(
      'LEASE_LOST',
      `The snapshot that the parts of this run read has ended: ${(error as Error).message}.`,
      'No action needed: the next holder of the run takes a new one.',
      { cause: error },
    )
  })
}
