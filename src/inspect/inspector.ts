import { adviseIdentities } from '../capture/index.js'
import type { CheckedColumn, CheckRules } from '../checks/index.js'
import {
  type Rejection,
  rejectionError,
  type ServerAccepted,
  type SqlGuard,
  type TextAccepted,
} from '../guard/index.js'
import type { CheckResult } from '../model/check.js'
import { MAIN_CONNECTION } from '../model/connection.js'
import { VitrinaError } from '../model/errors.js'
import type { Blocker } from '../model/freshness.js'
import type { RelationRead } from '../model/order.js'
import {
  finalTarget,
  hasTransforms,
  type Pipeline,
  readerField,
  readerQuery,
  readsTable,
  strategyOf,
  transformNames,
} from '../model/pipeline.js'
import type { FollowedTable, IdentityAdvice } from '../model/source.js'
import { kindOf, type TargetRules } from '../model/target.js'
import { requirePlan } from '../model/task-plan.js'
import type {
  ChangeTrace,
  Finding,
  Preview,
  QueryPlan,
  SourceTables,
  Validation,
} from '../model/validation.js'
import type { Inspector, ValidationDepth } from '../ports/inspector.js'
import type { PartEngine } from '../ports/part-engine.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformHosts } from '../ports/transforms.js'
import { connectionUrl } from '../postgres/connections.js'
import { databaseNames } from '../postgres/database-place.js'
import { inspectionError, onSide } from '../postgres/errors.js'
import { KeptSessions } from '../postgres/kept-sessions.js'
import { READ_ONLY, type Session } from '../postgres/session.js'
import { findTarget, type Target } from '../sinks/postgres/target.js'
import { describeQuery } from '../sources/postgres/describe.js'
import { parseTable } from '../sql/identifiers.js'
import type { Column } from '../sql/selection.js'
import { type DescribedQuery, describeSource, examine, noQuery } from '../transfers/examine.js'
import { requireLocal, requireSupported } from '../transfers/parts/engine-support.js'
import { type ChosenRoute, chooseRoute } from '../transfers/routes/choose-route.js'
import { assignableProblem } from './assignable.js'
import { findBlocker } from './blocker.js'
import { changeTrace } from './change-trace.js'
import { changeWarnings, preparationWarnings } from './change-warnings.js'
import { checkFindings, expressionFindings } from './check-findings.js'
import { evaluateChecks } from './evaluate-checks.js'
import { examineSink, ofTarget } from './examine-sink.js'
import { asFinding, asFindings, fieldOf, inReaderField, planFindings, scheduleFindings } from './findings.js'
import type { InspectedPipeline } from './inspected-pipeline.js'
import { hasTriggers } from './mart-triggers.js'
import { missingKeys } from './missing-keys.js'
import { queryPlan } from './query-plan.js'
import { PREVIEW_PATIENCE, type PreviewPatience, readFirstRows } from './read-first-rows.js'
import { sourceTables } from './source-tables.js'
import { transformFirstRows, unknownTransforms, withTransforms } from './transformed-rows.js'
import { keyWarnings, partWarnings, warningsFor } from './warnings.js'

export interface InspectorSettings {
  readonly readerUrl: string
  /** A login that can read the marts of the main database but not change them. */
  readonly martUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly sourceSchemas: readonly string[]
  readonly guard: SqlGuard
  readonly transforms: TransformHosts
  readonly engine: Pick<PartEngine, 'require'>
  /** Shorter in tests. */
  readonly patience?: PreviewPatience
}

/** Longer than an inspection should take, shorter than a user is willing to wait. */
const STATEMENT_TIMEOUT = '10s'

export class PipelineInspector implements Inspector {
  readonly #settings: InspectorSettings
  /** Opening a session costs more than a verdict. */
  readonly #kept = new KeptSessions()
  readonly #life = new AbortController()

  constructor(settings: InspectorSettings) {
    this.#settings = settings
  }

  async close(): Promise<void> {
    await this.#kept.close()
  }

  async refusals(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]> {
    const verdict = await this.#checkQuery(pipeline, signal)
    if (!verdict.ok) {
      const lasting = verdict.problems.filter(({ mayPass = false }) => !mayPass)
      return asFindings(lasting, pipeline)
    }
    // Without the server the columns are unknown, and transforms decide which columns the mart has.
    const texts = await expressionFindings(this.#settings.guard, pipeline.checks)
    if (!('columns' in verdict) || texts.length > 0) return texts
    return [
      ...missingKeys(pipeline, verdict.columns),
      ...(await this.#refusedChecks(pipeline, verdict.columns, signal)),
    ]
  }

  /** Tables of a relationship may be created later. */
  async #refusedChecks(
    pipeline: Pipeline,
    columns: readonly CheckedColumn[],
    signal: AbortSignal,
  ): Promise<Finding[]> {
    if (pipeline.checks.length === 0 || hasTransforms(pipeline)) return []
    const session = await this.#forVerdict(pipeline, signal)()
    try {
      const found = await checkFindings(
        session,
        { checks: pipeline.checks, columns, openReader: null },
        this.#checkRules(pipeline),
      )
      return found.filter(({ field }) => !isRelationship(pipeline, field))
    } catch (error) {
      throw inspectionError(error, 'The inspection of the checks', 'source')
    } finally {
      await session.close()
    }
  }

  #checkRules(pipeline: Pipeline): CheckRules {
    const { guard, targets, sourceSchemas } = this.#settings
    return { guard, targets, sourceSchemas, isTable: kindOf(finalTarget(pipeline), targets) === null }
  }

  async evaluateChecks(
    pipeline: Pipeline,
    usual: (check: string) => Promise<readonly number[]>,
    signal: AbortSignal,
  ): Promise<CheckResult[]> {
    const session = await onSide('target', 'Connecting to the target', () =>
      this.#open(pipeline.targetConnection, this.#settings.martUrl, signal),
    )
    try {
      const rules = this.#checkRules(pipeline)
      const openReader = this.#readerBeside(pipeline, signal)
      return await evaluateChecks(session, { pipeline, usual, rules, openReader })
    } catch (error) {
      throw inspectionError(error, 'The evaluation of the checks', 'target')
    } finally {
      await session.close()
    }
  }

  /** In the main database one login reads marts and another one sources; a named connection has one for both. */
  #readerBeside(pipeline: Pipeline, signal: AbortSignal): (() => Promise<Session>) | null {
    return pipeline.targetConnection === null ? () => this.#openSource(null, signal) : null
  }

  async reads(pipeline: Pipeline, signal: AbortSignal): Promise<readonly RelationRead[]> {
    const { guard, readerUrl, connections } = this.#settings
    const checked = await this.#checkQuery(pipeline, signal)
    // A table that does not exist yet is a mart that another pipeline is about to create: its name is in the text.
    const text = checked.ok ? null : await guard.check(readerQuery(pipeline))
    const named = text?.ok ? text.relations : []
    const tables = !checked.ok ? named : 'reached' in checked ? checked.reached : checked.relations
    const names = databaseNames(readerUrl, connections)(pipeline.sourceConnection)
    return names.flatMap((connection) => tables.map(({ schema, table }) => ({ connection, schema, table })))
  }

  async #checkQuery(
    pipeline: Pipeline,
    signal: AbortSignal,
  ): Promise<ServerAccepted | TextAccepted | Rejection> {
    const { guard } = this.#settings
    const query = readerQuery(pipeline)
    return guard.check(query, this.#forVerdict(pipeline, signal)).catch((error) => {
      // When the source is down, only the text can be checked.
      if (error instanceof VitrinaError && error.class === 'lost') return guard.check(query)
      throw inspectionError(error, 'The check of the source query', 'source')
    })
  }

  async tables(connection: string | null, signal: AbortSignal): Promise<SourceTables> {
    const source = await this.#openSource(connection, signal)
    try {
      return await sourceTables(source, this.#settings.sourceSchemas)
    } catch (error) {
      throw inspectionError(error, 'The list of tables', 'source')
    } finally {
      await source.close()
    }
  }

  async identities(
    connection: string,
    tables: readonly FollowedTable[],
    signal: AbortSignal,
  ): Promise<readonly IdentityAdvice[]> {
    const source = await this.#openSource(connection === MAIN_CONNECTION ? null : connection, signal)
    try {
      return await adviseIdentities(source, tables)
    } finally {
      await source.close()
    }
  }

  async hasTriggers(pipeline: Pipeline, signal: AbortSignal): Promise<boolean> {
    const session = await this.#open(pipeline.targetConnection, this.#settings.martUrl, signal)
    try {
      return await hasTriggers(session, parseTable(finalTarget(pipeline)))
    } finally {
      await session.close()
    }
  }

  async blocker(
    pipeline: Pipeline,
    sessionsOf: readonly string[],
    signal: AbortSignal,
  ): Promise<Blocker | null> {
    const { martUrl, readerUrl } = this.#settings
    const target = await this.#open(pipeline.targetConnection, martUrl, signal)
    try {
      const found = await findBlocker(target, sessionsOf, 'target')
      if (found !== null || pipeline.sourceConnection === pipeline.targetConnection) return found
    } finally {
      await target.close()
    }
    const source = await this.#open(pipeline.sourceConnection, readerUrl, signal)
    try {
      return await findBlocker(source, sessionsOf, 'source')
    } finally {
      await source.close()
    }
  }

  async validate(
    pipeline: Pipeline,
    signal: AbortSignal,
    depth: ValidationDepth = 'whole',
  ): Promise<Validation> {
    const plan = planFindings(pipeline)
    const route = routeOf(pipeline, this.#settings.targets)
    // A wrong plan does not say which text is the query.
    const checked = plan.length > 0 ? NOT_CHECKED : await this.#checkReader(pipeline, signal)
    const refused = route instanceof VitrinaError ? [asFinding(route, 'target_table')] : []
    const errors = [...plan, ...scheduleFindings(pipeline), ...refused, ...checked.findings]
    if (route instanceof VitrinaError || errors.length > 0) return this.#invalid(pipeline, errors)
    // Reported also if a later check fails: the user chooses a key among them.
    let written: readonly Column[] = []
    try {
      return await this.#withSessions(pipeline, signal, async (source, target) => {
        const { sourceSchemas } = this.#settings
        const described = await this.#describe(source, pipeline, checked.query)
        written = described.columns
        written = await this.#writtenColumns(pipeline, described.columns, signal)
        const sink =
          route.sink === null ? null : await examineSink(route.sink, pipeline, { columns: written, signal })
        const table = sink === null ? await this.#findTable(pipeline, target, written) : null
        const martKey = sink?.key ?? table?.key ?? pipeline.keyColumns
        const examined = await examine(source, pipeline, { ...described, martKey, sourceSchemas })
        const inspected: InspectedPipeline = { ...examined, way: route.way, written, target: table, sink }
        const { errors = [], warnings = [] } = sink ?? {}
        if (errors.length > 0) return this.#invalid(pipeline, ofTarget(errors), inspected)
        const misfit = table === null ? null : await assignableProblem(target, table)
        if (misfit !== null) return this.#invalid(pipeline, [asFinding(misfit, 'target_table')], inspected)
        const invalid = await checkFindings(
          target,
          { checks: pipeline.checks, columns: written, openReader: this.#readerBeside(pipeline, signal) },
          this.#checkRules(pipeline),
        )
        if (invalid.length > 0) return this.#invalid(pipeline, invalid, inspected)
        await this.#requireEngine(source, pipeline, inspected)
        const plan = await queryPlan(source, pipeline, inspected)
        const changes = await changeTrace(source, pipeline, inspected)
        const unprepared = await preparationWarnings(source, pipeline, inspected)
        const parts = await partWarnings(source, pipeline, inspected)
        const keys = depth === 'quick' ? [] : await keyWarnings(source, inspected)
        // Keys that this mode does not need; a comparison uses the incremental key in every mode.
        const unused = missingKeys(pipeline, examined.columns)
        const known = [
          ...[
            ...warningsFor(pipeline, inspected),
            ...parts,
            ...unprepared,
            ...changeWarnings(pipeline, changes),
          ],
          ...[...unused, ...keys, ...ofTarget(warnings)],
        ]
        return this.#valid(pipeline, { inspected, plan, changes }, known)
      })
    } catch (error) {
      // Not an error of the pipeline.
      if (error instanceof VitrinaError && error.code === 'TOO_MANY_CHECKS') throw error
      const unknown = unknownTransforms(error, pipeline)
      const found = unknown ?? [asFinding(error, fieldOf(error, pipeline))]
      return { ...this.#invalid(pipeline, found), columns: namesAndTypes(written) }
    }
  }

  /** Throws if the engine of the pipeline is missing, or cannot execute it. */
  async #requireEngine(source: Session, pipeline: Pipeline, examined: InspectedPipeline): Promise<void> {
    if (pipeline.engine === 'local') return
    if (examined.sink !== null) requireLocal(pipeline)
    const { engine, transforms } = this.#settings
    await engine.require(pipeline)
    const names = transformNames(pipeline)
    const items = names.length === 0 ? [] : (await transforms.list()).items
    const languages = items.filter(({ name }) => names.includes(name)).map(({ language }) => language)
    await requireSupported(source, { pipeline, examined, languages })
  }

  /** Has the query checked by the guard, once for each request. */
  async #checkReader(pipeline: Pipeline, signal: AbortSignal): Promise<CheckedQuery> {
    if (readerQuery(pipeline).trim() === '')
      return { query: null, findings: [asFinding(noQuery(), readerField(pipeline))] }
    try {
      const verdict = await this.#checkQuery(pipeline, signal)
      if (!verdict.ok) return { query: null, findings: asFindings(verdict.problems, pipeline) }
      return { query: 'canonical' in verdict ? verdict.canonical : null, findings: [] }
    } catch (error) {
      return { query: null, findings: [asFinding(error, fieldOf(error, pipeline))] }
    }
  }

  /** `query` is the text that the guard has returned; null: the source was not available then. */
  async #describe(source: Session, pipeline: Pipeline, query: string | null): Promise<DescribedQuery> {
    return query === null
      ? describeSource(source, pipeline, this.#settings.guard)
      : { query, columns: await describeQuery(source, query) }
  }

  /** The columns that reach the mart. Also reports transforms that cannot be loaded. */
  #writtenColumns(
    pipeline: Pipeline,
    columns: readonly Column[],
    signal: AbortSignal,
  ): Promise<readonly Column[]> {
    const { transforms: hosts, patience = PREVIEW_PATIENCE } = this.#settings
    const looking = { hosts, pipeline, signal, patience }
    return withTransforms(looking, columns, async (chain) => chain?.columns ?? columns)
  }

  #findTable(pipeline: Pipeline, session: Session, columns: readonly Column[]): Promise<Target | null> {
    const { keyColumns } = pipeline
    const address = finalTarget(pipeline)
    return onSide('target', `Inspecting ${address}`, () =>
      findTarget(session, { address, columns, keyColumns, rules: this.#settings.targets }),
    )
  }

  async preview(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<Preview> {
    requirePlan(pipeline)
    const verdict = await this.#settings.guard
      .check(readerQuery(pipeline), this.#forVerdict(pipeline, signal))
      .catch((error) => {
        throw inspectionError(error, 'The check of the source query', 'source')
      })
    if (!verdict.ok) throw rejectionError(verdict, { isDerived: readsTable(pipeline) })
    const { canonical, columns } = verdict
    const source = await this.#openSource(pipeline.sourceConnection, signal)
    try {
      const { transforms: hosts, patience = PREVIEW_PATIENCE } = this.#settings
      const looking = { hosts, pipeline, signal, patience }
      const read = columns.map((column) => ({ ...column, typeOid: 0, base: null, notNull: false }))
      return await withTransforms(looking, read, (chain) =>
        chain === null
          ? readFirstRows(source, canonical, { columns, limit, patience })
          : transformFirstRows(source, canonical, { columns: read, chain, limit, patience }),
      )
    } catch (error) {
      throw inspectionError(error, 'The preview', 'source')
    } finally {
      await source.close()
    }
  }

  #valid(
    pipeline: Pipeline,
    {
      inspected,
      plan,
      changes,
    }: {
      readonly inspected: InspectedPipeline
      readonly plan: QueryPlan
      readonly changes: ChangeTrace | null
    },
    warnings: Finding[],
  ): Validation {
    const found = inReaderField(warnings, pipeline)
    return { ...this.#runFacts(pipeline, inspected), valid: true, errors: [], warnings: found, plan, changes }
  }

  #invalid(pipeline: Pipeline, errors: Finding[], examined: InspectedPipeline | null = null): Validation {
    const found = inReaderField(errors, pipeline)
    return { ...this.#runFacts(pipeline, examined), valid: false, errors: found, warnings: [] }
  }

  #runFacts(
    pipeline: Pipeline,
    examined: InspectedPipeline | null,
  ): Omit<Validation, 'valid' | 'errors' | 'warnings'> {
    return {
      columns: namesAndTypes(examined?.written ?? []),
      strategy: strategyOf(pipeline),
      way: examined?.way ?? null,
      guarantee: examined?.guarantee ?? null,
      reads: examined === null ? null : examined.paged ? 'paged' : 'once',
      createsTarget:
        examined !== null && (examined.sink === null ? examined.target === null : !examined.sink.exists),
      plan: null,
      changes: null,
    }
  }

  async #withSessions<T>(
    pipeline: Pipeline,
    signal: AbortSignal,
    work: (source: Session, target: Session) => Promise<T>,
  ): Promise<T> {
    const source = await this.#openSource(pipeline.sourceConnection, signal)
    try {
      const target = await onSide('target', 'Connecting to the target', () =>
        this.#open(pipeline.targetConnection, this.#settings.martUrl, signal),
      )
      try {
        return await work(source, target)
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  }

  #forVerdict(pipeline: Pipeline, signal: AbortSignal): () => Promise<Session> {
    return pipeline.sourceConnection === null
      ? () => this.#open(null, this.#settings.readerUrl, this.#life.signal)
      : () => this.#openSource(pipeline.sourceConnection, signal)
  }

  async #openSource(connection: string | null, signal: AbortSignal): Promise<Session> {
    const session = await this.#open(connection, this.#settings.readerUrl, signal)
    await session.run(READ_ONLY)
    return session
  }

  async #open(connection: string | null, main: string, signal: AbortSignal): Promise<Session> {
    const url = connectionUrl(this.#settings.connections, connection, main)
    const session = await this.#kept.open(url, { name: 'vitrina-inspect', purpose: 'look' }, signal)
    await session.run(`SET statement_timeout = '${STATEMENT_TIMEOUT}'; SET lock_timeout = '2s'`)
    return session
  }
}

function isRelationship({ checks }: Pipeline, field: string): boolean {
  return checks.some(({ type }, place) => type === 'relationship' && field === `checks.${place}`)
}

function namesAndTypes(columns: readonly Column[]): Validation['columns'] {
  return columns.map(({ name, type }) => ({ name, type }))
}

/** What the guard has decided about the query. */
interface CheckedQuery {
  /** The only text that may be run; null: unknown. */
  readonly query: string | null
  readonly findings: readonly Finding[]
}

const NOT_CHECKED: CheckedQuery = { query: null, findings: [] }

/** The route that a run would take, or why it would be refused. */
function routeOf(pipeline: Pipeline, targets: TargetRules<SinkKind>): ChosenRoute | VitrinaError {
  try {
    return chooseRoute(pipeline, targets)
  } catch (error) {
    if (error instanceof VitrinaError) return error
    throw error
  }
}
