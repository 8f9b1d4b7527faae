import { type Checkpoint, type PassStart, passFingerprint } from '../checkpoints/checkpoint.js'
import { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import { type CheckRules, type CompiledChecks, compileChecks } from '../checks/index.js'
import { type Claim, SESSION_PREFIX, sessionName } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { finalTarget, type Pipeline, transformNames } from '../model/pipeline.js'
import type { AcceptedQuery } from '../ports/query-guard.js'
import type { Ledger } from '../ports/transfer.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'
import { onSide } from '../postgres/errors.js'
import type { SessionOpener } from '../postgres/kept-sessions.js'
import { kept } from '../postgres/kept-statements.js'
import { allTogether, READ_ONLY, type Session } from '../postgres/session.js'
import type { Target } from '../sinks/postgres/target.js'
import { committedBy, momentAndCommitted, momentOf, type SweepFrom } from '../sources/postgres/changes.js'
import type { SourceClock } from '../sources/postgres/horizon.js'
import { parseTable } from '../sql/identifiers.js'
import type { Column } from '../sql/selection.js'
import { BatchRunner, type CheckpointState } from './batch.js'
import type { ChangeSource } from './changes/change-source.js'
import { type ChangeLog, lookForLog, openChanges } from './changes/open-changes.js'
import { acceptedQuery, describeAccepted, type Examined, examine, type SourceRules } from './examine.js'
import { type KeptExaminations, markTable } from './kept-examinations.js'
import type { CreatedMart, FoundMart } from './marts/mart.js'
import type { TableWriting } from './marts/table-writer.js'
import type { SourceQuery } from './readers/reader.js'

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
  readonly checks: CompiledChecks
  readonly mart: M
  /** The mart did not exist before. */
  readonly isNew: boolean
  /** The mart had no rows when the attempt began. */
  readonly isEmpty: boolean
  readonly batches: BatchRunner
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

export interface AttemptOptions {
  readonly claim: Claim
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly sessions: SessionOpener
  /** For the source; not given: the same. */
  readonly sourceSessions?: SessionOpener
  readonly examinations: KeptExaminations
  readonly rules: SourceRules
  readonly targets: CheckRules['targets']
  readonly transforms: TransformHosts
  /** Null: the source is read through the session of the target. */
  readonly sourceUrl: string | null
  /** The database of the checkpoint. */
  readonly url: string
  /** That is the main database, judging by its address. */
  readonly isMain: boolean
  /** Rows and checkpoint are committed together. */
  readonly isTransactional: boolean
  readonly log: ChangeLog
  readonly resources: Resources
  /** The attempt is a member of a group: all its batches belong to one transaction, which the caller begins and commits. */
  readonly joins?: boolean
}

export type SideOptions = Omit<AttemptOptions, 'ledger' | 'log' | 'isMain'> & {
  readonly ledger: Pick<Ledger, 'transformOutput'>
  /** The application_name of the sessions; not given: that of the run. */
  readonly name?: string
}

/** What an attempt has opened. */
export class Resources {
  readonly #open: { close(): Promise<unknown> }[] = []

  add<R extends { close(): Promise<unknown> }>(resource: R): R {
    this.#open.push(resource)
    return resource
  }

  /** Last opened, first closed. */
  async close(): Promise<void> {
    for (const resource of this.#open.reverse()) await resource.close().catch(() => {})
  }
}

export interface MartLook<M> {
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
  { findMart, isEmptyMart }: MartLook<M>,
): Promise<Attempt<M>> {
  const { claim, ledger, resources, isTransactional, joins = false } = options
  const { pipeline } = claim
  const sides = await openSides(options, findMart)
  const { source, session, clock, chain, found, examined, reached, checks, keep } = sides
  await ledger.reads(reached)
  const created = await found.create()
  await keep(created)
  const { mart, identity, isNew } = created
  // Never before the fence is taken: until then a predecessor may fill the mart. In the main database it is sent first.
  const isEmptyNow = async (taken: Promise<unknown>) => {
    if (!options.isMain) await taken
    return isEmptyMart(session, mart)
  }
  const [looked, begun] = await settled([
    // A group computes every row.
    joins ? Promise.resolve(null) : lookForLog({ ...options, examined }),
    allTogether([session, source], () => {
      const taken = takeOver(options, session, created)
      return Promise.all([taken, startNow(source, session), isNew ? true : isEmptyNow(taken)])
    }),
  ])
  const [{ checkpoints, checkpoint, isMain }, { moment, start }, isEmpty] = begun
  failpoint('fence.taken')
  const parts = { session, checkpoints, ledger, claim, isMain, isTransactional, identity, joins }
  const batches = new BatchRunner(parts, checkpoint)
  const key = examined.key.map((column) => column.name)
  return {
    ...{
      claim,
      ledger,
      source,
      session,
      clock,
      examined,
      chain,
      checks,
      mart,
      isNew,
      isEmpty,
      batches,
      isMain,
      resources,
    },
    openSource: () => openSession(options, options.sourceUrl ?? options.url, 'source'),
    fingerprint: passFingerprint(pipeline, examined.query, key),
    changes: joins
      ? null
      : await openChanges({ source, examined, state: batches.state, ...options, moment, clock, looked }),
    start,
  }
}

/** What both sides of a transfer are, before anything is changed. */
export interface Sides<M> extends OpenSessions {
  readonly chain: TransformChain | null
  readonly found: FoundMart<M>
  readonly examined: Examined
  /** The tables that the query reads. */
  readonly reached: AcceptedQuery['reached']
  readonly checks: CompiledChecks
  /** For the next run. */
  keep(created: CreatedMart<M>): Promise<void>
}

type FindMart<M> = (session: Session, columns: readonly Column[]) => Promise<FoundMart<M>>

/** Opens sessions and rejects what cannot work, by what the last run found out if nothing has changed since. */
export async function openSides<M>(options: SideOptions, findMart: FindMart<M>): Promise<Sides<M>> {
  const { claim, rules, examinations } = options
  const { pipeline } = claim
  const opened = await openSessions(options)
  const { source } = opened
  const inSource = <T>(work: () => Promise<T>) => onSide('source', 'Inspecting the source', work)
  const isKept = options.isTransactional && followsChanges(pipeline)
  const [clock, accepted, examination] = await allTogether([opened.session, source], () =>
    Promise.all([
      enter(opened, claim),
      inSource(() => acceptedQuery(source, pipeline, rules.judge)),
      isKept ? inSource(() => examinations.find<M>(claim, opened)) : null,
    ]),
  )
  const sessions = { ...opened, clock }
  const { canonical: query, reached } = accepted
  if (examination !== null && examination.examined.query === query) {
    const { examined, mart } = examination
    const found = { key: examined.key.map(({ name }) => name), create: async () => mart }
    const checks = await checksOf(options, sessions.session, examined.columns)
    return { ...sessions, chain: null, found, examined, reached, checks, keep: async () => {} }
  }
  const mark = isKept ? await markTable(sessions.session, parseTable(finalTarget(pipeline))) : null
  const made = await examineSides(options, { ...sessions, query }, findMart)
  const { examined, chain } = made
  const checks = await checksOf(options, sessions.session, chain?.columns ?? examined.columns)
  const keep = async (mart: CreatedMart<M>) => {
    if (mark !== null) await examinations.keep(claim, sessions, { examined, mart, mark })
  }
  return { ...sessions, ...made, reached, checks, keep }
}

const NO_CHECKS: CompiledChecks = { rows: [], mart: [] }

/** They are evaluated where the rows are written, or for a sink in the main database. */
async function checksOf(
  { claim, rules, targets, isTransactional: isTable }: SideOptions,
  session: Session,
  columns: readonly Column[],
): Promise<CompiledChecks> {
  const { checks } = claim.pipeline
  if (checks.length === 0) return NO_CHECKS
  const { judge: guard, sourceSchemas } = rules
  // The planner assumes that the condition of a relationship is expensive, and would compile each statement.
  await session.run('SET jit = off')
  return onSide(isTable ? 'target' : 'meta store', 'Preparing the checks', () =>
    compileChecks(session, { checks, columns }, { guard, sourceSchemas, targets, isTable }),
  )
}

async function examineSides<M>(
  options: SideOptions,
  { source, session, query }: OpenSessions & { readonly query: string },
  findMart: FindMart<M>,
): Promise<Pick<Sides<M>, 'chain' | 'found' | 'examined'>> {
  const { claim, rules } = options
  const { pipeline } = claim
  const inSource = <T>(work: () => Promise<T>) => onSide('source', 'Inspecting the source', work)
  const described = await inSource(() => describeAccepted(source, query))
  const chain = await openChain(options, described.columns)
  const found = await onSide('target', `Inspecting ${finalTarget(pipeline)}`, () =>
    findMart(session, chain?.columns ?? described.columns),
  )
  const { sourceSchemas } = rules
  const examined = await inSource(() =>
    examine(source, pipeline, { ...described, martKey: found.key, sourceSchemas }),
  )
  return { chain, found, examined }
}

function followsChanges(pipeline: Pipeline): boolean {
  return pipeline.mode === 'incremental' && transformNames(pipeline).length === 0
}

async function openSession(
  options: SideOptions,
  address: string,
  purpose: 'source' | 'target',
): Promise<Session> {
  const { claim, signal, sessions, sourceSessions = sessions, resources, name = sessionName(claim) } = options
  const opener = purpose === 'source' ? sourceSessions : sessions
  return resources.add(await opener.open(address, { name, purpose }, signal))
}

async function openSessions(options: SideOptions): Promise<Omit<OpenSessions, 'clock'>> {
  const { sourceUrl, url, isTransactional } = options
  const side = isTransactional ? 'target' : 'meta store'
  const session = await onSide(side, `Connecting to the ${side}`, () => openSession(options, url, 'target'))
  const source =
    sourceUrl === null
      ? session
      : await onSide('source', 'Connecting to the source', () => openSession(options, sourceUrl, 'source'))
  return { source, session }
}

/** What a run does first in both sessions. */
async function enter({ source, session }: Omit<OpenSessions, 'clock'>, claim: Claim): Promise<SourceClock> {
  if (source === session) return endPredecessors(session, claim)
  const [clock] = await Promise.all([
    endPredecessors(source, claim),
    endPredecessors(session, claim),
    source.run(READ_ONLY),
  ])
  return clock
}

interface OpenSessions {
  readonly source: Session
  readonly session: Session
  readonly clock: SourceClock
}

/**
 * A frozen predecessor may still hold locks in an open transaction. It cannot commit any more, but waiting for it takes
 * seconds, and ending its sessions takes 12 ms. Sessions of a successor are left alone: this runner may be the frozen one.
 * Returns the time as well.
 */
async function endPredecessors(session: Session, claim: Claim): Promise<SourceClock> {
  const [row] = await session.rows(END_PREDECESSORS, [`${SESSION_PREFIX}${claim.pipeline.id}/`, claim.fence])
  return { now: row!.now!, readAt: performance.now() }
}

const END_PREDECESSORS = kept(
  `SELECT clock_timestamp()::text AS now, (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE starts_with(application_name, $1) AND split_part(application_name, '/', 2)::bigint < $2 AND usename = current_user)`,
)

async function openChain(
  { claim, signal, transforms, ledger, resources }: SideOptions,
  columns: readonly Column[],
): Promise<TransformChain | null> {
  const names = transformNames(claim.pipeline)
  if (names.length === 0) return null
  const output = { signal, onOutput: ledger.transformOutput }
  return resources.add(await transforms.open(names, columns, output))
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
    readCheckpoint(checkpoints, ledger),
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
async function readCheckpoint(checkpoints: CheckpointStore, ledger: Ledger): Promise<Checkpoint> {
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

/** `moment` is that of the source. */
async function startNow(
  source: Session,
  session: Session,
): Promise<{ moment: SweepFrom | null; start: PassStart | null }> {
  if (source === session) {
    const both = await momentAndCommitted(session)
    return { moment: both?.source ?? null, start: both }
  }
  // In this order: what the mart has when it is looked at was read from the source before.
  const moment = await momentOf(source)
  const mart = await committedBy(session)
  return { moment, start: moment === null || mart === null ? null : { source: moment, mart } }
}

export function sourceQueryOf({ source, examined }: Attempt<unknown>): SourceQuery {
  const { query, columns, order, facts } = examined
  return { source, query, columns, order, relations: facts.relations }
}

export function writingOf(attempt: Attempt<Target>, isEmpty: boolean): TableWriting {
  return writingInto(attempt, { isEmpty, refusedSoFar: attempt.batches.progress.rows.quarantined })
}

export function writingInto(
  {
    claim,
    examined,
    chain,
    mart,
    checks,
  }: Pick<Attempt<Target>, 'claim' | 'examined' | 'chain' | 'mart' | 'checks'>,
  { isEmpty, refusedSoFar }: Pick<TableWriting, 'isEmpty' | 'refusedSoFar'>,
): TableWriting {
  const written = (chain?.columns ?? examined.columns).map((column) => column.name)
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
