import { type CheckRules, type CompiledChecks, compileChecks } from '../checks/index.js'
import { finalTarget, type Pipeline, transformNames } from '../model/pipeline.js'
import type { AcceptedQuery } from '../ports/query-guard.js'
import type { Ledger } from '../ports/transfer.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'
import { onSide } from '../postgres/errors.js'
import { allTogether, type Session } from '../postgres/session.js'
import type { SourceClock } from '../sources/postgres/horizon.js'
import { parseTable } from '../sql/identifiers.js'
import type { Column } from '../sql/selection.js'
import { acceptedQuery, describeAccepted, type Examined, examine, type SourceRules } from './examine.js'
import { type KeptExaminations, markTable } from './kept-examinations.js'
import type { CreatedMart, FoundMart } from './marts/mart.js'
import { type OpenSessions, openSessions, prepareSessions, type SessionOptions } from './open-sessions.js'

export interface SideOptions extends SessionOptions {
  readonly ledger: Pick<Ledger, 'transformOutput'>
  readonly examinations: KeptExaminations
  readonly rules: SourceRules
  readonly targets: CheckRules['targets']
  readonly transforms: TransformHosts
}

/** What both sides of a transfer are, before anything is changed. */
export interface Sides<M> extends OpenSessions {
  /** Read from the source when its session was opened. */
  readonly clock: SourceClock
  readonly chain: TransformChain | null
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
): Promise<Pick<Sides<M>, 'chain' | 'found' | 'examined'>> {
  const { claim, rules } = options
  const { pipeline } = claim
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

async function openChain(
  { claim, signal, transforms, ledger, resources }: SideOptions,
  columns: readonly Column[],
): Promise<TransformChain | null> {
  const names = transformNames(claim.pipeline)
  if (names.length === 0) return null
  const output = { signal, onOutput: ledger.transformOutput }
  return resources.add(await transforms.open(names, columns, output))
}
