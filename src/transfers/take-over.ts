import type { Checkpoint } from '../checkpoints/checkpoint.js'
import { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import type { Claim } from '../model/claim.js'
import type { Ledger } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import type { CreatedMart } from './marts/mart.js'

interface TakeOverOptions {
  readonly claim: Claim
  readonly ledger: Ledger
  /** The database of the checkpoint is the main database, judging by its address. */
  readonly isMain: boolean
}

/** Takes the fence. From here on an older holder of the pipeline cannot commit. */
export async function takeOver(
  { claim, ledger, ...options }: TakeOverOptions,
  session: Session,
  mart: CreatedMart<unknown>,
): Promise<{ checkpoints: CheckpointStore; checkpoint: Checkpoint; isMain: boolean }> {
  const checkpoints = new CheckpointStore(session, claim.pipeline.id, claim.fence)
  const isMain = options.isMain || (await isMainDatabase(session, claim))
  if (!isMain) await checkpoints.create()
  const stored = await onSide(isMain ? 'meta store' : 'target', 'Reading the checkpoint', () =>
    takeFenceAndReset(checkpoints, ledger),
  )
  if (!isOfAnotherMart(stored, mart)) return { checkpoints, checkpoint: stored, isMain }
  const checkpoint = await checkpoints.reset({ key: null, id: null })
  ledger.martRecreated()
  return { checkpoints, checkpoint, isMain }
}

/**
 * A named connection may lead to the main database by another address: there the claim is visible. Mistaken for another
 * database, the copy of the checkpoint would wait for the checkpoint itself.
 */
export async function isMainDatabase(session: Session, claim: Claim): Promise<boolean> {
  const [meta] = await session.rows(
    "SELECT has_table_privilege(to_regclass('etl.etl_pipelines'), 'SELECT')::text AS readable",
  )
  if (meta?.readable !== 'true') return false
  const found = await session.rows(
    'SELECT 1 AS found FROM etl.etl_pipelines WHERE id = $1 AND fence = $2 AND current_run_id = $3',
    [claim.pipeline.id, claim.fence, claim.runId],
  )
  return found.length > 0
}

/** A checkpoint that a user has set in the main database has not reached another database yet. */
async function takeFenceAndReset(checkpoints: CheckpointStore, ledger: Ledger): Promise<Checkpoint> {
  const [stored, requested] = await Promise.all([checkpoints.takeFence(), ledger.requestedReset()])
  if (requested === null) return stored
  const checkpoint = await checkpoints.reset(requested)
  await ledger.resetApplied()
  return checkpoint
}

/** A mart that was dropped and created again contains none of the rows that the checkpoint covers. */
function isOfAnotherMart({ position }: Checkpoint, mart: CreatedMart<unknown>): boolean {
  const { mart: known, unpublished = [] } = position
  if (mart.identity !== null && known !== undefined && isRecreated(known, mart.identity)) return true
  // What is not published yet does not need an existing mart. The parts of a pass, which keep theirs, cover every row.
  const hasParts = mart.identity === null && position.pass?.parts !== undefined
  return mart.isNew && unpublished.length === 0 && !hasParts && Object.keys(position).length > 0
}

/** A mart that was restored on another server is the same mart, although its oid differs. */
function isRecreated(known: string, identity: string): boolean {
  const databaseOf = (text: string) => text.slice(0, text.lastIndexOf('#') + 1)
  return known !== identity && databaseOf(known) === databaseOf(identity)
}
