import {
  type Checkpoint,
  type CheckpointState,
  type PassStart,
  passFingerprint,
} from '../checkpoints/checkpoint.js'
import { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import type { CompiledChecks } from '../checks/index.js'
import type { Claim } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import type { Ledger } from '../ports/transfer.js'
import type { TransformChain } from '../ports/transforms.js'
import { onSide } from '../postgres/errors.js'
import { allTogether, type Session } from '../postgres/session.js'
import type { TargetTable } from '../sinks/postgres/target.js'
import { committedBy, momentAndCommitted, momentOf, type SweepFrom } from '../sources/postgres/changes.js'
import type { SourceClock } from '../sources/postgres/horizon.js'
import type { Column } from '../sql/selection.js'
import { BatchRunner } from './batch.js'
import type { ChangeSource } from './changes/change-source.js'
import { type LogAccess, openChanges, readLogFacts } from './changes/open-changes.js'
import type { Examined } from './examine.js'
import { GroupBatches } from './group-batches.js'
import type { CreatedMart } from './marts/mart.js'
import type { TableWriting } from './marts/table-writer.js'
import type { SourceQuery } from './readers/reader.js'
import type { RunBatches } from './run-batches.js'
import { type FindMart, openSession, openSides, type Resources, type SideOptions } from './sides.js'

/** Everything that one attempt of a run works with, opened once. `M` is what the mart is written through. */
export interface Attempt<M> {
  readonly claim: Claim
  readonly ledger: Ledger
  readonly source: Session
  /** Read from the source when its session was opened. */
  readonly clock: SourceClock
  /** The session of the checkpoint: that of the target table, or of the main database for a sink. */
  readonly session: Session
  readonly examined: Examined
  /** Null: the pipeline has no transforms. */
  readonly chain: TransformChain | null
  /** Of the rows that are written, after the transforms. */
  readonly columns: readonly Column[]
  readonly checks: CompiledChecks
  readonly mart: M
  /** The mart had no rows when the attempt began. */
  readonly isEmpty: boolean
  readonly batches: RunBatches
  /** Identifies what positions refer to. */
  readonly fingerprint: string
  /** Taken before anything is read: whatever commits later counts as unread. Null: the server does not reveal it. */
  readonly start: PassStart | null
  /** Null: rows are read in the order of a key, or all of them. */
  readonly changes: ChangeSource | null
  /** The checkpoint is in the main database. */
  readonly isMain: boolean
  /** Opens another session for the database of the source. */
  readonly openSource: () => Promise<Session>
  readonly resources: Resources
}

export interface AttemptOptions extends SideOptions {
  readonly ledger: Ledger
  /** `url` is the main database, judging by its address. */
  readonly isMain: boolean
  readonly log: LogAccess
  /** The attempt is a member of a group: all its batches belong to one transaction, which the caller begins and commits. */
  readonly inGroup?: boolean
}

/** How to find the mart of a pipeline, and whether it has rows. */
export interface MartFinder<M> {
  readonly findMart: FindMart<M>
  readonly isEmptyMart: (session: Session, mart: M) => Promise<boolean>
}

/** All of them, also if one fails: what it has opened is closed after that. */
async function settled<A, B>([first, second]: readonly [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return [await first, await second]
}

/**
 * Opens sessions, rejects what cannot work before anything is read, creates the mart and takes the fence. The caller
 * closes `resources`, also if this fails.
 */
export async function openAttempt<M>(
  options: AttemptOptions,
  { findMart, isEmptyMart }: MartFinder<M>,
): Promise<Attempt<M>> {
  const { claim, ledger, resources, isTransactional, inGroup = false } = options
  const { pipeline } = claim
  const sides = await openSides(options, findMart)
  const { source, session, clock, chain, columns, found, examined, reached, checks, keep } = sides
  await ledger.reads(reached)
  const created = await found.create()
  await keep(created)
  const { mart, identity, isNew } = created
  // Never before the fence is taken: until then a predecessor may fill the mart. In the main database it is sent first.
  const isEmptyNow = async (taken: Promise<unknown>) => {
    if (!options.isMain) await taken
    return isEmptyMart(session, mart)
  }
  const [logFacts, begun] = await settled([
    // A group computes every row.
    inGroup ? Promise.resolve(null) : readLogFacts({ ...options, examined }),
    allTogether([session, source], () => {
      const taken = takeOver(options, session, created)
      return Promise.all([taken, startNow(source, session), isNew ? true : isEmptyNow(taken)])
    }),
  ])
  const [{ checkpoints, checkpoint, isMain }, { moment, start }, isEmpty] = begun
  failpoint('fence.taken')
  const parts = { session, checkpoints, ledger, claim, isMain, isTransactional, identity }
  const batches = inGroup ? new GroupBatches(parts, checkpoint) : new BatchRunner(parts, checkpoint)
  const key = examined.key.map((column) => column.name)
  return {
    claim,
    ledger,
    source,
    session,
    clock,
    examined,
    chain,
    columns,
    checks,
    mart,
    isEmpty,
    batches,
    isMain,
    resources,
    openSource: () => openSession(options, options.sourceUrl ?? options.url, 'source'),
    fingerprint: passFingerprint(pipeline, examined.query, key),
    changes: inGroup
      ? null
      : await openChanges({ source, examined, state: batches.state, ...options, moment, clock, logFacts }),
    start,
  }
}

/** `moment` is that of the source. */
async function startNow(
  source: Session,
  session: Session,
): Promise<{ moment: SweepFrom | null; start: PassStart | null }> {
  if (source === session) {
    const both = await momentAndCommitted(session)
    return { moment: both?.source ?? null, start: both }
  }
  // In this order: every row that the mart has by then was read from the source before.
  const moment = await momentOf(source)
  const mart = await committedBy(session)
  return { moment, start: moment === null || mart === null ? null : { source: moment, mart } }
}

/** Takes the fence. From here on an older holder of the pipeline cannot commit. */
async function takeOver(
  { claim, ledger, ...options }: AttemptOptions,
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

export function sourceQueryOf({ source, examined }: Attempt<unknown>): SourceQuery {
  const { query, columns, order, facts } = examined
  return { source, query, columns, order, relations: facts.relations }
}

export function writingOf(attempt: Attempt<TargetTable>, isEmpty: boolean): TableWriting {
  return writingInto(attempt, { isEmpty, refusedSoFar: attempt.batches.progress.rows.quarantined })
}

export function writingInto(
  {
    claim,
    examined,
    columns,
    mart,
    checks,
  }: Pick<Attempt<TargetTable>, 'claim' | 'examined' | 'columns' | 'mart' | 'checks'>,
  { isEmpty, refusedSoFar }: Pick<TableWriting, 'isEmpty' | 'refusedSoFar'>,
): TableWriting {
  const written = columns.map((column) => column.name)
  return {
    newestBy: examined.order.columns
      .map((column) => column.name)
      .filter((name) => written.includes(name) && !mart.key.includes(name)),
    quarantineLimit: claim.pipeline.quarantineLimit,
    refusedSoFar,
    isEmpty,
    checks: checks.rows,
  }
}

/** A full pass that begins with this attempt, or continues an unfinished one of the same name. */
export function fullPass(
  { fingerprint, batches, start }: Attempt<unknown>,
  name: string,
): { name: string; fingerprint: string; from: CheckpointState; start: PassStart | null } {
  return { name, fingerprint, from: batches.state, start }
}
