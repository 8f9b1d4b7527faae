import { VitrinaError } from '../../model/errors.js'
import type { PartClaim } from '../../model/part.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { quoteLiteral } from '../../sql/identifiers.js'
import { sqlstateOf } from '../../sql/sqlstate.js'

/**
 * A snapshot of the source that every part of a run reads, so that the mart shows one state of it. It lives as long as
 * this session keeps its transaction open.
 */
export class SharedSnapshot {
  readonly session: Session
  readonly id: string

  private constructor(session: Session, id: string) {
    this.session = session
    this.id = id
  }

  static open(session: Session): Promise<SharedSnapshot> {
    return onSide('source', 'Exporting a snapshot', async () => {
      // It is idle while the parts work.
      await session.run('SET idle_in_transaction_session_timeout = 0')
      await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const { id } = await session.row<{ id: string }>('SELECT pg_export_snapshot() AS id')
      return new SharedSnapshot(session, id)
    })
  }

  /** Throws if the snapshot is lost. */
  async require(): Promise<void> {
    await this.session.rows('SELECT 1 AS alive')
  }

  async close(): Promise<void> {
    await this.session.run('ROLLBACK').catch(() => {})
  }
}

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
