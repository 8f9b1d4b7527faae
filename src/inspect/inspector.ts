import { adviseIdentities } from '../capture/index.js'
import type { CheckedColumn } from '../checks/index.js'
import { type Rejection, rejectionError, type ServerAccepted, type TextAccepted } from '../guard/index.js'
import type { CheckResult } from '../model/check.js'
import { MAIN_CONNECTION } from '../model/connection.js'
import type { Blocker } from '../model/freshness.js'
import type { RelationRead } from '../model/order.js'
import { finalTarget, hasTransforms, type Pipeline, readerQuery, readsTable } from '../model/pipeline.js'
import type { FollowedTable, IdentityAdvice } from '../model/source.js'
import { requirePlan } from '../model/task-plan.js'
import type { Finding, Preview, SourceTables, Validation } from '../model/validation.js'
import type { Inspector, ValidationDepth } from '../ports/inspector.js'
import { databaseNames } from '../postgres/database-place.js'
import { inspectionError } from '../postgres/errors.js'
import { parseTable } from '../sql/identifiers.js'
import { findBlocker } from './blocker.js'
import { checkFindings, textFindings } from './check-findings.js'
import { checkQuery } from './check-query.js'
import { evaluateChecks } from './evaluate-checks.js'
import { asFindings } from './findings.js'
import { InspectionSessions } from './inspection-sessions.js'
import { type InspectorSettings, rulesForChecks } from './inspector-settings.js'
import { hasTriggers } from './mart-triggers.js'
import { missingKeys } from './missing-keys.js'
import { PipelineValidator } from './pipeline-validator.js'
import { PREVIEW_TIMEOUTS, readFirstRows } from './read-first-rows.js'
import { sourceTables } from './source-tables.js'
import { transformFirstRows, withTransforms } from './transformed-rows.js'

export class PipelineInspector implements Inspector {
  readonly #settings: InspectorSettings
  readonly #sessions: InspectionSessions
  readonly #validator: PipelineValidator

  constructor(settings: InspectorSettings) {
    this.#settings = settings
    this.#sessions = new InspectionSessions(settings)
    this.#validator = new PipelineValidator(settings, this.#sessions)
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }

  async refusals(pipeline: Pipeline, signal: AbortSignal): Promise<Finding[]> {
    const verdict = await this.#checkQuery(pipeline, signal)
    const texts = await textFindings(pipeline.checks, rulesForChecks(this.#settings, pipeline))
    if (!verdict.ok) {
      const lasting = verdict.problems.filter(({ mayPass = false }) => !mayPass)
      return [...asFindings(lasting, pipeline), ...texts]
    }
    // Without the server the columns are unknown, and transforms decide which columns the mart has.
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
    const session = await this.#sessions.forGuard(pipeline, signal)()
    try {
      const found = await checkFindings(
        session,
        { checks: pipeline.checks, columns, openReader: null },
        rulesForChecks(this.#settings, pipeline),
      )
      return found.filter(({ field }) => !isRelationship(pipeline, field))
    } catch (error) {
      throw inspectionError(error, 'The inspection of the checks', 'source')
    } finally {
      await session.close()
    }
  }

  async evaluateChecks(
    pipeline: Pipeline,
    usual: (check: string) => Promise<readonly number[]>,
    signal: AbortSignal,
  ): Promise<CheckResult[]> {
    const session = await this.#sessions.target(pipeline, signal)
    try {
      const rules = rulesForChecks(this.#settings, pipeline)
      const openReader = this.#sessions.readerBeside(pipeline, signal)
      return await evaluateChecks(session, { pipeline, usual, rules, openReader })
    } catch (error) {
      throw inspectionError(error, 'The evaluation of the checks', 'target')
    } finally {
      await session.close()
    }
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

  #checkQuery(pipeline: Pipeline, signal: AbortSignal): Promise<ServerAccepted | TextAccepted | Rejection> {
    return checkQuery({ guard: this.#settings.guard, sessions: this.#sessions }, pipeline, signal)
  }

  async tables(connection: string | null, signal: AbortSignal): Promise<SourceTables> {
    const source = await this.#sessions.source(connection, signal)
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
    const source = await this.#sessions.source(connection === MAIN_CONNECTION ? null : connection, signal)
    try {
      return await adviseIdentities(source, tables)
    } finally {
      await source.close()
    }
  }

  async hasTriggers(pipeline: Pipeline, signal: AbortSignal): Promise<boolean> {
    const session = await this.#sessions.target(pipeline, signal)
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
    const target = await this.#sessions.target(pipeline, signal)
    try {
      const found = await findBlocker(target, sessionsOf, 'target')
      if (found !== null || pipeline.sourceConnection === pipeline.targetConnection) return found
    } finally {
      await target.close()
    }
    const source = await this.#sessions.source(pipeline.sourceConnection, signal)
    try {
      return await findBlocker(source, sessionsOf, 'source')
    } finally {
      await source.close()
    }
  }

  validate(pipeline: Pipeline, signal: AbortSignal, depth: ValidationDepth = 'whole'): Promise<Validation> {
    return this.#validator.validate(pipeline, signal, depth)
  }

  async preview(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<Preview> {
    requirePlan(pipeline)
    const verdict = await this.#settings.guard
      .check(readerQuery(pipeline), this.#sessions.forGuard(pipeline, signal))
      .catch((error) => {
        throw inspectionError(error, 'The check of the source query', 'source')
      })
    if (!verdict.ok) throw rejectionError(verdict, { isDerived: readsTable(pipeline) })
    const { canonical, columns } = verdict
    const source = await this.#sessions.source(pipeline.sourceConnection, signal)
    try {
      const { transforms: hosts, timeouts = PREVIEW_TIMEOUTS } = this.#settings
      const opening = { hosts, pipeline, signal, timeouts }
      const read = columns.map((column) => ({ ...column, typeOid: 0, base: null, notNull: false }))
      return await withTransforms(opening, read, (chain) =>
        chain === null
          ? readFirstRows(source, canonical, { columns, limit, timeouts })
          : transformFirstRows(source, canonical, { columns: read, chain, limit, timeouts }),
      )
    } catch (error) {
      throw inspectionError(error, 'The preview', 'source')
    } finally {
      await source.close()
    }
  }
}

function isRelationship({ checks }: Pipeline, field: string): boolean {
  return checks.some(({ type }, place) => type === 'relationship' && field === `checks.${place}`)
}
