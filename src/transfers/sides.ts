import { type CheckRules, type CompiledChecks, compileChecks } from '../checks/index.js'
import { type Claim, SESSION_PREFIX, sessionName } from '../model/claim.js'
import { finalTarget, type Pipeline, transformNames } from '../model/pipeline.js'
import type { AcceptedQuery } from '../ports/query-guard.js'
import type { Ledger } from '../ports/transfer.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'
import { onSide } from '../postgres/errors.js'
import type { SessionOpener } from '../postgres/kept-sessions.js'
import { kept } from '../postgres/kept-statements.js'
import { allTogether, READ_ONLY, type Session } from '../postgres/session.js'
import type { SourceClock } from '../sources/postgres/horizon.js'
import { parseTable } from '../sql/identifiers.js'
import type { Column } from '../sql/selection.js'
import { acceptedQuery, describeAccepted, type Examined, examine, type SourceRules } from './examine.js'
import { type KeptExaminations, markTable } from './kept-examinations.js'
import type { CreatedMart, FoundMart } from './marts/mart.js'

export interface SideOptions {
  readonly claim: Claim
  readonly ledger: Pick<Ledger, 'transformOutput'>
  readonly signal: AbortSignal
  readonly sessions: SessionOpener
  /** For the source; not given: the same. */
  readonly sourceSessions?: SessionOpener
  /** Null: the source is read through the session of the target. */
  readonly sourceUrl: string | null
  /** The database of the checkpoint. */
  readonly url: string
  /** Rows and checkpoint are committed together. */
  readonly isTransactional: boolean
  readonly resources: Resources
  /** The application_name of the sessions; not given: that of the run. */
  readonly name?: string
  readonly examinations: KeptExaminations
  readonly rules: SourceRules
  readonly targets: CheckRules['targets']
  readonly transforms: TransformHosts
}

/** What an attempt has opened, to be closed at its end. */
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

/** They are the same one if source and target are one database. */
interface OpenSessions {
  readonly source: Session
  readonly session: Session
}

/** What both sides of a transfer are, before anything is changed. */
export interface Sides<M> extends OpenSessions {
  /** Read from the source when its session was opened. */
  readonly clock: SourceClock
  /** Null: the pipeline has no transforms. */
  readonly chain: TransformChain | null
  /** Of the rows that are written, after the transforms. */
  readonly columns: readonly Column[]
  readonly found: FoundMart<M>
  readonly examined: Examined
  /** The tables that the query reads. */
  readonly reached: AcceptedQuery['reached']
  readonly checks: CompiledChecks
  /** For the next run. */
  keep(created: CreatedMart<M>): Promise<void>
}

export type FindMart<M> = (session: Session, columns: readonly Column[]) => Promise<FoundMart<M>>

/** Opens sessions and rejects what cannot work, by what the last run found out if nothing has changed since. */
export async function openSides<M>(options: SideOptions, findMart: FindMart<M>): Promise<Sides<M>> {
  const { claim, rules, examinations } = options
  const { pipeline } = claim
  const opened = await openSessions(options)
  const { source } = opened
  const isKept = options.isTransactional && followsChanges(pipeline)
  const [clock, accepted, examination] = await allTogether([opened.session, source], () =>
    Promise.all([
      prepareSessions(opened, claim),
      inSource(() => acceptedQuery(source, pipeline, rules.guard)),
      isKept ? inSource(() => examinations.find<M>(claim, opened)) : null,
    ]),
  )
  const sessions = { ...opened, clock }
  const { canonical: query, reached } = accepted
  if (examination !== null && examination.examined.query === query) {
    const { examined, mart } = examination
    const { columns } = examined
    const found = { key: examined.key.map(({ name }) => name), create: async () => mart }
    const checks = await checksOf(options, sessions.session, columns)
    return { ...sessions, chain: null, columns, found, examined, reached, checks, keep: async () => {} }
  }
  const mark = isKept ? await markTable(sessions.session, parseTable(finalTarget(pipeline))) : null
  const made = await examineSides(options, { ...sessions, query }, findMart)
  const { examined, columns } = made
  const checks = await checksOf(options, sessions.session, columns)
  const keep = async (mart: CreatedMart<M>) => {
    if (mark !== null) await examinations.keep(claim, sessions, { examined, mart, mark })
  }
  return { ...sessions, ...made, reached, checks, keep }
}

export async function openSession(
  options: SideOptions,
  address: string,
  purpose: 'source' | 'target',
): Promise<Session> {
  const { claim, signal, sessions, sourceSessions = sessions, resources, name = sessionName(claim) } = options
  const opener = purpose === 'source' ? sourceSessions : sessions
  return resources.add(await opener.open(address, { name, purpose }, signal))
}

async function openSessions(options: SideOptions): Promise<OpenSessions> {
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
async function prepareSessions({ source, session }: OpenSessions, claim: Claim): Promise<SourceClock> {
  if (source === session) return endPredecessors(session, claim)
  const [clock] = await Promise.all([
    endPredecessors(source, claim),
    endPredecessors(session, claim),
    source.run(READ_ONLY),
  ])
  return clock
}

/**
 * A frozen predecessor may still hold locks in an open transaction. It cannot commit any more, but waiting for it takes
 * seconds, and ending its sessions takes 12 ms. Sessions of a successor are left alone: this runner may be the frozen one.
 * Returns the time as well.
 */
async function endPredecessors(session: Session, claim: Claim): Promise<SourceClock> {
  const earlier = [`${SESSION_PREFIX}${claim.pipeline.id}/`, claim.fence]
  const { now } = await session.row<{ now: string }>(END_PREDECESSORS, earlier)
  return { now, readAt: performance.now() }
}

const END_PREDECESSORS = kept(
  `SELECT clock_timestamp()::text AS now, (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE starts_with(application_name, $1) AND split_part(application_name, '/', 2)::bigint < $2 AND usename = current_user)`,
)

function inSource<T>(work: () => Promise<T>): Promise<T> {
  return onSide('source', 'Inspecting the source', work)
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
  const { guard, sourceSchemas } = rules
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
): Promise<Pick<Sides<M>, 'chain' | 'columns' | 'found' | 'examined'>> {
  const { claim, rules } = options
  const { pipeline } = claim
  const described = await inSource(() => describeAccepted(source, query))
  const chain = await openChain(options, described.columns)
  const columns = chain?.columns ?? described.columns
  const found = await onSide('target', `Inspecting ${finalTarget(pipeline)}`, () =>
    findMart(session, columns),
  )
  const { sourceSchemas } = rules
  const examined = await inSource(() =>
    examine(source, pipeline, { ...described, martKey: found.key, sourceSchemas }),
  )
  return { chain, columns, found, examined }
}

function followsChanges(pipeline: Pipeline): boolean {
  return pipeline.mode === 'incremental' && transformNames(pipeline).length === 0
}

async function openChain(
  { claim, signal, transforms, ledger, resources }: SideOptions,
  columns: readonly Column[],
): Promise<TransformChain | null> {
  const names = transformNames(claim.pipeline)
  if (names.length === 0) return null
  const output = { signal, onOutput: ledger.transformOutput }
  return resources.add(await transforms.open(names, columns, output))
}
