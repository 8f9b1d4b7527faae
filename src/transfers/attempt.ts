import type { Checkpoint, PassStart } from '../checkpoints/checkpoint.js'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import { type Claim, SESSION_PREFIX } from '../model/claim.js'
import type { Ledger, Step } from '../ports/transfer.js'
import type { Session } from '../postgres/session.js'
import type { Target } from '../sinks/postgres/target.js'
import { committedBy, momentOf } from '../sources/postgres/changes.js'
import type { BatchRunner } from './batch.js'

/**
 * A predecessor that was frozen may still hold locks in an open transaction. It can commit nothing any more, but
 * waiting for it costs seconds; ending its sessions costs 12 ms. Never those of a successor: we may be the one who
 * was frozen.
 */
export async function endPredecessors(sessions: readonly Session[], claim: Claim): Promise<void> {
  for (const session of new Set(sessions)) {
    await session.rows(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE starts_with(application_name, $1) AND split_part(application_name, '/', 2)::bigint < $2 AND usename = current_user`,
      [`${SESSION_PREFIX}${claim.pipeline.id}/`, claim.fence],
    )
  }
}

/**
 * A named connection may lead back to the main database, by whatever address: there our own claim can be seen. Taken for
 * another database, the copy of the checkpoint would wait for the checkpoint itself.
 */
export async function isMainDatabase(target: Session, claim: Claim): Promise<boolean> {
  const [meta] = await target.rows(
    "SELECT has_table_privilege(to_regclass('etl.etl_pipelines'), 'SELECT')::text AS readable",
  )
  if (meta!.readable !== 'true') return false
  const found = await target.rows(
    'SELECT 1 AS found FROM etl.etl_pipelines WHERE id = $1 AND fence = $2 AND current_run_id = $3',
    [claim.pipeline.id, claim.fence, claim.runId],
  )
  return found.length > 0
}

/** In another database the authoritative checkpoint has not heard yet of one that was set by hand. */
export async function takeCheckpoint(checkpoints: CheckpointStore, ledger: Ledger): Promise<Checkpoint> {
  const found = await checkpoints.takeFence()
  const wish = await ledger.resetWish()
  if (wish === null) return found
  const checkpoint = await checkpoints.reset(wish)
  await ledger.resetDone()
  return checkpoint
}

/** Which table this is, and of which database: elsewhere its number says nothing. */
export async function identityOf(session: Session, { oid }: Target): Promise<string> {
  const moment = await momentOf(session)
  const [row] = await session.rows('SELECT oid::text FROM pg_database WHERE datname = current_database()')
  return `${moment?.system ?? ''}/${row!.oid}#${oid}`
}

/** Of two marts in one place. What was restored in another place is the same mart, although it has another number. */
function isAnother(known: string, mart: string): boolean {
  const placeOf = (identity: string) => identity.slice(0, identity.lastIndexOf('#') + 1)
  return known !== mart && placeOf(known) === placeOf(mart)
}

/** A mart that was deleted and made again holds nothing of what the checkpoint speaks of. */
export async function checkpointFor(
  checkpoints: CheckpointStore,
  found: Checkpoint,
  mart: { readonly identity: string | null; readonly isNew: boolean },
): Promise<{ readonly checkpoint: Checkpoint; readonly isReset: boolean }> {
  const { mart: known, unpublished = [] } = found.position
  const isOther = mart.identity !== null && known !== undefined && isAnother(known, mart.identity)
  // What was written but not shown yet needs no mart to go on from.
  const isGone = mart.isNew && unpublished.length === 0 && Object.keys(found.position).length > 0
  if (!isOther && !isGone) return { checkpoint: found, isReset: false }
  return { checkpoint: await checkpoints.reset({ key: null, id: null }), isReset: true }
}

/** Taken before anything is read: whatever commits later than this counts as unread. Null: it cannot be told. */
export async function begunNow(source: Session, mart: Session): Promise<PassStart | null> {
  const [there, here] = [await momentOf(source), await committedBy(mart)]
  return there === null || here === null ? null : { source: there, mart: here }
}

/** A run that is continued after its last batch would otherwise read everything once more. */
export function unlessDone(batches: BatchRunner, step: Step): Step {
  return batches.isDone(step.name) ? { name: step.name, next: async () => null } : step
}
