import { VitrinaError } from '../model/errors.js'
import {
  finalTarget,
  type Pipeline,
  readerField,
  readerQuery,
  strategyOf,
  transformNames,
} from '../model/pipeline.js'
import type { TargetRules } from '../model/target.js'
import type { ChangeTrace, Finding, QueryPlan, Validation } from '../model/validation.js'
import type { ValidationDepth } from '../ports/inspector.js'
import type { SinkKind } from '../ports/sink.js'
import { onSide } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import { findTarget, type TargetTable } from '../sinks/postgres/target.js'
import { describeQuery } from '../sources/postgres/describe.js'
import type { Column } from '../sql/selection.js'
import { type DescribedQuery, describeSource, examine, noQuery } from '../transfers/examine.js'
import { requireLocal, requireSupported } from '../transfers/parts/engine-support.js'
import { type ChosenRoute, chooseRoute } from '../transfers/routes/choose-route.js'
import { assignableProblem } from './assignable.js'
import { changeTrace } from './change-trace.js'
import { changeWarnings, preparationWarnings } from './change-warnings.js'
import { checkFindings, textFindings } from './check-findings.js'
import { checkQuery } from './check-query.js'
import { examineSink, ofTarget } from './examine-sink.js'
import { asFinding, asFindings, fieldOf, inReaderField, planFindings, scheduleFindings } from './findings.js'
import type { InspectedPipeline } from './inspected-pipeline.js'
import type { InspectionSessions } from './inspection-sessions.js'
import { type InspectorSettings, rulesForChecks } from './inspector-settings.js'
import { missingKeys } from './missing-keys.js'
import { queryPlan } from './query-plan.js'
import { PREVIEW_TIMEOUTS } from './read-first-rows.js'
import { unknownTransforms, withTransforms } from './transformed-rows.js'
import { keyWarnings, partWarnings, warningsFor } from './warnings.js'

interface Inspection {
  readonly described: DescribedQuery
  /** The columns that reach the mart. */
  readonly written: readonly Column[]
  readonly route: ChosenRoute
  readonly signal: AbortSignal
}

interface WarningFacts {
  readonly source: Session
  readonly changes: ChangeTrace | null
  readonly depth: ValidationDepth
}

/** Finds out how a run would read and write, with the code that runs use, and what would prevent it. */
export class PipelineValidator {
  readonly #settings: InspectorSettings
  readonly #sessions: InspectionSessions

  constructor(settings: InspectorSettings, sessions: InspectionSessions) {
    this.#settings = settings
    this.#sessions = sessions
  }

  async validate(pipeline: Pipeline, signal: AbortSignal, depth: ValidationDepth): Promise<Validation> {
    const plan = planFindings(pipeline)
    const route = routeOf(pipeline, this.#settings.targets)
    // A wrong plan does not say which text is the query.
    const checked = plan.length > 0 ? NOT_CHECKED : await this.#checkReader(pipeline, signal)
    const refused = route instanceof VitrinaError ? [asFinding(route, 'target_table')] : []
    const errors = [...plan, ...scheduleFindings(pipeline), ...refused, ...checked.findings]
    // Reported also if the checks cannot be compiled, because there is no mart or no server.
    const texts = await textFindings(pipeline.checks, rulesForChecks(this.#settings, pipeline))
    if (route instanceof VitrinaError || errors.length > 0)
      return this.#invalid(pipeline, [...errors, ...texts])
    // Reported also if a later check fails: the user chooses a key among them.
    let written: readonly Column[] = []
    try {
      return await this.#sessions.withBoth(pipeline, signal, async (source, target) => {
        const described = await this.#describe(source, pipeline, checked.query)
        written = described.columns
        written = await this.#writtenColumns(pipeline, described.columns, signal)
        const inspected = await this.#inspect({ source, target }, pipeline, {
          described,
          written,
          route,
          signal,
        })
        const problems = await this.#problemsOf(pipeline, inspected, { target, signal })
        if (problems.length > 0) return this.#invalid(pipeline, problems, inspected)
        await this.#requireEngine(source, pipeline, inspected)
        const plan = await queryPlan(source, pipeline, inspected)
        const changes = await changeTrace(source, pipeline, inspected)
        const warnings = await this.#warningsOf(pipeline, inspected, { source, changes, depth })
        return this.#valid(pipeline, { inspected, plan, changes }, warnings)
      })
    } catch (error) {
      // Not an error of the pipeline.
      if (error instanceof VitrinaError && error.code === 'TOO_MANY_CHECKS') throw error
      const unknown = unknownTransforms(error, pipeline)
      const found = unknown ?? [asFinding(error, fieldOf(error, pipeline))]
      return { ...this.#invalid(pipeline, [...found, ...texts]), columns: namesAndTypes(written) }
    }
  }

  /** What a run would find out before it reads anything. */
  async #inspect(
    { source, target }: { readonly source: Session; readonly target: Session },
    pipeline: Pipeline,
    { described, written, route, signal }: Inspection,
  ): Promise<InspectedPipeline> {
    const { sourceSchemas } = this.#settings
    const sink =
      route.sink === null ? null : await examineSink(route.sink, pipeline, { columns: written, signal })
    const table = sink === null ? await this.#findTable(pipeline, target, written) : null
    const martKey = sink?.key ?? table?.key ?? pipeline.keyColumns
    const examined = await examine(source, pipeline, { ...described, martKey, sourceSchemas })
    return { ...examined, way: route.way, written, target: table, sink }
  }

  /** Why the target cannot take these rows, or else which checks cannot be evaluated there. */
  async #problemsOf(
    pipeline: Pipeline,
    { sink, target: table, written: columns }: InspectedPipeline,
    { target, signal }: { readonly target: Session; readonly signal: AbortSignal },
  ): Promise<Finding[]> {
    if (sink !== null && sink.errors.length > 0) return ofTarget(sink.errors)
    const misfit = table === null ? null : await assignableProblem(target, table)
    if (misfit !== null) return [asFinding(misfit, 'target_table')]
    const openReader = this.#sessions.readerBeside(pipeline, signal)
    const rules = rulesForChecks(this.#settings, pipeline)
    return checkFindings(target, { checks: pipeline.checks, columns, openReader }, rules)
  }

  async #warningsOf(
    pipeline: Pipeline,
    inspected: InspectedPipeline,
    { source, changes, depth }: WarningFacts,
  ): Promise<Finding[]> {
    const unprepared = await preparationWarnings(source, pipeline, inspected)
    const parts = await partWarnings(source, pipeline, inspected)
    const keys = depth === 'quick' ? [] : await keyWarnings(source, inspected)
    return [
      ...warningsFor(pipeline, inspected),
      ...parts,
      ...unprepared,
      ...changeWarnings(pipeline, changes),
      // Keys that this mode does not need; a comparison uses the incremental key in every mode.
      ...missingKeys(pipeline, inspected.columns),
      ...keys,
      ...ofTarget(inspected.sink?.warnings ?? []),
    ]
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
      const verdict = await checkQuery(
        { guard: this.#settings.guard, sessions: this.#sessions },
        pipeline,
        signal,
      )
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
    const { transforms: hosts, timeouts = PREVIEW_TIMEOUTS } = this.#settings
    const opening = { hosts, pipeline, signal, timeouts }
    return withTransforms(opening, columns, async (chain) => chain?.columns ?? columns)
  }

  #findTable(pipeline: Pipeline, session: Session, columns: readonly Column[]): Promise<TargetTable | null> {
    const { keyColumns } = pipeline
    const address = finalTarget(pipeline)
    return onSide('target', `Inspecting ${address}`, () =>
      findTarget(session, { address, columns, keyColumns, rules: this.#settings.targets }),
    )
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
