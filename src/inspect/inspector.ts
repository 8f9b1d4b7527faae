import {
  type GuardSession,
  KeptSessions,
  type Rejection,
  rejectionError,
  type ServerAccepted,
  type SqlGuard,
  type TextAccepted,
} from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import {
  finalTarget,
  hasTransforms,
  type Pipeline,
  readerField,
  readerQuery,
  readsTable,
  strategyOf,
  type Way,
} from '../model/pipeline.js'
import { nextRun } from '../model/schedule.js'
import { allowedInstead, isAllowedTarget, kindOf, type TargetRules } from '../model/target.js'
import { PLAN_HINT, requirePlan, savedPlanMistakes } from '../model/task-plan.js'
import type { Finding, Preview, QueryPlan, SourceTables, Validation } from '../model/validation.js'
import type { Inspector, LookDepth } from '../ports/inspector.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformHosts } from '../ports/transforms.js'
import { connectionUrl } from '../postgres/connections.js'
import { lookError, onSide } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { findTarget, type Target } from '../sinks/postgres/target.js'
import type { Column } from '../sql/selection.js'
import { examine, noQuery } from '../transfers/examine.js'
import { assignableProblem } from './assignable.js'
import { PREVIEW_PATIENCE, type PreviewPatience, readFirstRows } from './first-rows.js'
import type { Looked } from './look.js'
import { missingKeys } from './missing-keys.js'
import { queryPlan } from './query-plan.js'
import { lookAtSink, ofTarget, type SinkLook } from './sink-look.js'
import { sourceTables } from './source-tables.js'
import { transformField, transformFirstRows, unknownTransforms, withTransforms } from './transformed-rows.js'
import { keyWarnings, warningsFor } from './warnings.js'

export interface InspectorSettings {
  readonly readerUrl: string
  /** A login that can read the marts of the main database but not change them. */
  readonly martUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly sourceSchemas: readonly string[]
  readonly guard: SqlGuard
  readonly transforms: TransformHosts
  /** Shorter in tests. */
  readonly patience?: PreviewPatience
}

/** Longer than an inspection should take, shorter than a user is willing to wait. */
const LOOK_TIMEOUT = '10s'

export class PipelineInspector implements Inspector {
  readonly #settings: InspectorSettings
  /** Opening a session costs more than a verdict, so sessions of the main database are kept for a while. */
  readonly #kept: KeptSessions
  readonly #life = new AbortController()

  constructor(settings: InspectorSettings) {
    this.#settings = settings
    this.#kept = new KeptSessions(() => this.#open(null, settings.readerUrl, this.#life.signal))
  }

  async close(): Promise<void> {
    await this.#kept.end()
  }

  async refusals(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]> {
    const verdict = await this.#judge(pipeline, signal)
    if (!verdict.ok) {
      const lasting = verdict.problems.filter(({ mayPass = false }) => !mayPass)
      return asFindings(lasting, pipeline)
    }
    // Without the server the columns are unknown.
    return 'columns' in verdict ? missingKeys(pipeline, verdict.columns) : []
  }

  async #judge(pipeline: Pipeline, signal: AbortSignal): Promise<ServerAccepted | TextAccepted | Rejection> {
    const { guard } = this.#settings
    const query = readerQuery(pipeline)
    return guard.check(query, this.#forVerdict(pipeline, signal)).catch((error) => {
      // When the source is down, only the text can be checked.
      if (error instanceof VitrinaError && error.class === 'lost') return guard.check(query)
      throw lookError(error, 'The check of the source query', 'source')
    })
  }

  async tables(connection: string | null, signal: AbortSignal): Promise<SourceTables> {
    const source = await this.#openSource(connection, signal)
    try {
      return await sourceTables(source, this.#settings.sourceSchemas)
    } catch (error) {
      throw lookError(error, 'The list of tables', 'source')
    } finally {
      await source.close()
    }
  }

  async validate(pipeline: Pipeline, signal: AbortSignal, depth: LookDepth = 'whole'): Promise<Validation> {
    const plan = planFindings(pipeline)
    const errors = [
      ...plan,
      ...scheduleFindings(pipeline),
      ...this.#targetFindings(pipeline),
      // An invalid plan does not determine the query.
      ...(plan.length > 0 ? [] : await this.#queryFindings(pipeline, signal)),
    ]
    if (errors.length > 0) return this.#invalid(pipeline, errors)
    // Returned even if a later check fails, so that the user can choose a key from them.
    let written: readonly Column[] = []
    try {
      return await this.#withSessions(pipeline, signal, async (source, target) => {
        const kind = kindOf(finalTarget(pipeline), this.#settings.targets)?.kind ?? null
        let sink: SinkLook | null = null
        let table: Target | null = null
        const { guard, sourceSchemas } = this.#settings
        const examined = await examine(source, pipeline, { judge: guard, sourceSchemas }, async (columns) => {
          written = columns
          written = await this.#writtenColumns(pipeline, columns, signal)
          if (kind !== null) {
            sink = await lookAtSink(kind, pipeline, written, signal)
            return sink.key
          }
          table = await onSide('target', 'Inspecting the target', () =>
            findTarget(target, finalTarget(pipeline), written, pipeline.keyColumns),
          )
          return table?.key ?? pipeline.keyColumns
        })
        const looked: Looked = { ...examined, written, target: table, sink }
        const { errors = [], warnings = [] } = (sink as SinkLook | null) ?? {}
        if (errors.length > 0) return this.#invalid(pipeline, ofTarget(errors), looked)
        const misfit = table === null ? null : await assignableProblem(target, table)
        if (misfit !== null) return this.#invalid(pipeline, [asFinding(misfit, 'target_table')], looked)
        const plan = await queryPlan(source, pipeline, looked)
        const keys = depth === 'quick' ? [] : await keyWarnings(source, looked)
        // Keys that this mode does not need; a comparison uses the incremental key in every mode.
        const unused = missingKeys(pipeline, examined.columns)
        const known = [...warningsFor(pipeline, looked), ...unused, ...keys, ...ofTarget(warnings)]
        return this.#valid(pipeline, { looked, plan }, known)
      })
    } catch (error) {
      // Not an error of the pipeline.
      if (error instanceof VitrinaError && error.code === 'TOO_MANY_CHECKS') throw error
      const unknown = unknownTransforms(error, pipeline)
      const found = unknown ?? [asFinding(error, fieldOf(error, pipeline))]
      return { ...this.#invalid(pipeline, found), columns: namesAndTypes(written) }
    }
  }

  #queryFindings(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]> {
    if (readerQuery(pipeline).trim() === '')
      return Promise.resolve([asFinding(noQuery(), readerField(pipeline))])
    return this.#judge(pipeline, signal).then(
      (verdict) => (verdict.ok ? [] : asFindings(verdict.problems, pipeline)),
      (error) => [asFinding(error, fieldOf(error, pipeline))],
    )
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

  async preview(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<Preview> {
    requirePlan(pipeline)
    const verdict = await this.#settings.guard
      .check(readerQuery(pipeline), this.#forVerdict(pipeline, signal))
      .catch((error) => {
        throw lookError(error, 'The check of the source query', 'source')
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
          ? readFirstRows(source, canonical, columns, { limit, patience })
          : transformFirstRows(source, canonical, read, { chain, limit, patience }),
      )
    } catch (error) {
      throw lookError(error, 'The preview', 'source')
    } finally {
      await source.close()
    }
  }

  #targetFindings(pipeline: Pipeline): Finding[] {
    const target = finalTarget(pipeline)
    if (isAllowedTarget(target, this.#settings.targets)) return []
    const { setting, names } = allowedInstead(target, this.#settings.targets)
    const error = new VitrinaError(
      'TARGET_REFUSED',
      `"${target}" is not an allowed target (${names.join(', ')}).`,
      `Choose an allowed target, or ask an administrator to extend ${setting}.`,
    )
    return [asFinding(error, 'target_table')]
  }

  #valid(
    pipeline: Pipeline,
    { looked, plan }: { readonly looked: Looked; readonly plan: QueryPlan },
    warnings: Finding[],
  ): Validation {
    const found = inReaderField(warnings, pipeline)
    return { ...this.#told(pipeline, looked), valid: true, errors: [], warnings: found, plan }
  }

  #invalid(pipeline: Pipeline, errors: Finding[], examined: Looked | null = null): Validation {
    const found = inReaderField(errors, pipeline)
    return { ...this.#told(pipeline, examined), valid: false, errors: found, warnings: [] }
  }

  #told(pipeline: Pipeline, examined: Looked | null): Omit<Validation, 'valid' | 'errors' | 'warnings'> {
    return {
      columns: namesAndTypes(examined?.written ?? []),
      strategy: strategyOf(pipeline),
      way: examined === null ? null : wayOf(pipeline, examined.sink !== null),
      guarantee: examined?.guarantee ?? null,
      reads: examined === null ? null : examined.paged ? 'paged' : 'once',
      createsTarget:
        examined !== null && (examined.sink === null ? examined.target === null : !examined.sink.exists),
      plan: null,
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

  #forVerdict(pipeline: Pipeline, signal: AbortSignal): () => Promise<GuardSession> {
    return pipeline.sourceConnection === null
      ? this.#kept.borrow
      : () => this.#openSource(pipeline.sourceConnection, signal)
  }

  async #openSource(connection: string | null, signal: AbortSignal): Promise<Session> {
    const session = await this.#open(connection, this.#settings.readerUrl, signal)
    await session.run(READ_ONLY)
    return session
  }

  async #open(connection: string | null, main: string, signal: AbortSignal): Promise<Session> {
    const url = connectionUrl(this.#settings.connections, connection, main)
    const session = await Session.open(url, 'vitrina-inspect', signal)
    await session.run(`SET statement_timeout = '${LOOK_TIMEOUT}'; SET lock_timeout = '2s'`)
    return session
  }
}

function namesAndTypes(columns: readonly Column[]): Validation['columns'] {
  return columns.map(({ name, type }) => ({ name, type }))
}

function wayOf(pipeline: Pipeline, isSink: boolean): Way {
  if (isSink || hasTransforms(pipeline)) return 'rows'
  return pipeline.sourceConnection === pipeline.targetConnection ? 'pushdown' : 'relay'
}

const NO_SUCH_COLUMN = '42703'

function planFindings(pipeline: Pipeline): Finding[] {
  return savedPlanMistakes(pipeline).map((found) => ({ ...found, hint: PLAN_HINT, position: null }))
}

/** An invalid schedule starts no run. A schedule set with SQL has not been checked before. */
function scheduleFindings({ scheduleInterval, scheduleTimezone }: Pipeline): Finding[] {
  if (scheduleInterval === null) return []
  try {
    nextRun(scheduleInterval, scheduleTimezone, new Date())
    return []
  } catch (error) {
    return [asFinding(error, (error as VitrinaError).mistakes[0]?.field ?? 'schedule_interval')]
  }
}

function asFindings(problems: Rejection['problems'], pipeline: Pipeline): Finding[] {
  const field = readerField(pipeline)
  if (!readsTable(pipeline))
    return problems.map(({ code, message, hint, position, sqlstate = null }) => ({
      ...{ code, message, hint, sqlstate },
      ...{ field, position },
    }))
  return problems.map(({ code, message, hint, sqlstate = null }) => ({
    ...{ code, message, hint, sqlstate },
    field: sqlstate === NO_SUCH_COLUMN ? 'source_columns' : field,
    position: null,
  }))
}

/** Sinks and warnings refer to the query; this maps them to the field that contains it. */
function inReaderField(findings: readonly Finding[], pipeline: Pipeline): Finding[] {
  return findings.map((finding) =>
    finding.field === 'source_query' ? { ...finding, field: readerField(pipeline) } : finding,
  )
}

const FIELDS: Record<string, string> = {
  KEY_NULL: 'incremental_key',
  KEY_UNORDERED: 'incremental_key',
  HORIZON_BLIND: 'capture',
  CAPTURE_UNSUPPORTED: 'capture',
  TARGET_MISMATCH: 'target_table',
  TARGET_KEY_MISSING: 'key_columns',
  TARGET_REFUSED: 'target_table',
  SINK_MISSING: 'target_table',
  SINK_UNAVAILABLE: 'target_table',
  SINK_LOGIN: 'target_table',
  SINK_REFUSED: 'target_table',
  SINK_OVERLOADED: 'target_table',
  TARGET_FAILED: 'target_table',
}

function fieldOf(error: unknown, pipeline: Pipeline): string {
  const known = error instanceof VitrinaError ? (error.mistakes[0]?.field ?? FIELDS[error.code]) : undefined
  return known ?? transformField(error, pipeline) ?? readerField(pipeline)
}

function asFinding(error: unknown, field: string): Finding {
  const { code, message, hint, sqlstate } = lookError(error, 'The check', 'source')
  return { code, message, hint, sqlstate, field, position: null }
}
