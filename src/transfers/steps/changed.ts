import { setTimeout as delay } from 'node:timers/promises'
import type { CheckpointState, ScopeAudit } from '../../checkpoints/checkpoint.js'
import type { FailedAudit } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import { databaseError, onSide } from '../../postgres/errors.js'
import { chooseRecompute, recomputeText, type ScopeTrace } from '../../scopes/index.js'
import { asRelation, columnList } from '../../sql/selection.js'
import type { Attempt } from '../attempt.js'
import { affectedScopes } from '../changes/affected-scopes.js'
import type { ChangeSource, FoundChanges, NextPosition } from '../changes/change-source.js'
import { auditOf, isAuditDue } from '../changes/scope-audit.js'
import { NO_CHANGE } from '../marts/mart.js'
import { movedTo } from '../progression.js'
import type { AffectedRows, CollectedAudit, Recomputed, Route } from '../routes/route.js'
import type { BatchOutcome } from '../run-batches.js'
import { counted } from './pass.js'

const AUDIT_FAILED = 'An audit has found rows that differ from the query.'
/** A snapshot in which the changes cannot be read is replaced by a later one. */
const AGAIN_MS = 50

export interface ChangedParts {
  readonly changes: ChangeSource
  readonly trace: ScopeTrace
  /** Identifies the query that was traced. */
  readonly query: string
  /** Every change is found, so that the mart equals the query: it can be audited. */
  readonly isExact: boolean
  /** Writes every row in batches and ends with this position, where a mart cannot be rebuilt at once. */
  readonly everyRow: (next: NextPosition) => Step
  /** One of many in a run: its batches are recorded together, and it is left out if nothing has changed. */
  readonly live?: { readonly isPositionDue: () => boolean }
}

/** What a run has found out and collected. */
interface Collected<Rows> {
  readonly next: NextPosition
  readonly changes: Recomputed<Rows>
  readonly audit: CollectedAudit | null
  /** The session of the mart is still in the transaction in which this was read. */
  readonly isOpen: boolean
  /** How long this took, and the audit among it. */
  readonly ms: number
  readonly auditMs: number
}

/**
 * Recomputes the rows of the mart that changes of the source can have affected, with the pipeline's own query and in one
 * snapshot: rows that it returns are upserted, rows of these scopes that it no longer returns are deleted. What cannot
 * be followed is computed completely. So aggregates, windows and outer joins are right without knowing what they are.
 */
export class ChangedRows<Rows> implements Step {
  readonly name: 'changed' | 'live'
  readonly #attempt: Attempt<unknown>
  readonly #route: Route<Rows>
  readonly #parts: ChangedParts
  #collected: Collected<Rows> | null = null
  #everyRow: Step | null = null
  #done = false
  #keyQueries = ''
  /** What the audit of the last batch found; null: nothing. */
  #failed: FailedAudit | null = null

  constructor(attempt: Attempt<unknown>, route: Route<Rows>, parts: ChangedParts) {
    this.#attempt = attempt
    this.#route = route
    this.#parts = parts
    this.name = parts.live === undefined ? 'changed' : 'live'
  }

  /** The mart has to be written row by row. */
  get needsEveryRow(): boolean {
    return this.#everyRow !== null
  }

  async next(limit: number): ReturnType<Step['next']> {
    if (this.#everyRow !== null) return this.#everyRow.next(limit)
    if (this.#done) return null
    this.#collected ??= await this.#collect()
    if (this.#collected !== null) return this.#write(this.#collected, limit)
    if (this.#parts.live === undefined) return this.next(limit)
    this.#done = true
    return null
  }

  async #write(collected: Collected<Rows>, limit: number): Promise<BatchDone> {
    const { batches, ledger } = this.#attempt
    const { next, changes } = collected
    const { stream, finish } = changes
    const portion = (await stream?.reader.next(limit)) ?? null
    if (stream !== null && portion !== null) {
      const write = async (id: BatchId): Promise<BatchOutcome> => ({
        change: counted(await stream.writer.write(portion.rows, id), portion),
        state: batches.state,
      })
      return batches.run(this.name, write, { earlier: portion.phases })
    }
    this.#done = true
    const isLive = this.#parts.live !== undefined
    const done = await batches.run(
      this.name,
      async (id) => {
        const began = performance.now()
        const change = await finish(id)
        const written = performance.now()
        this.#failed = await this.#compare(collected)
        const spent = {
          runMs: collected.ms + performance.now() - began,
          auditMs: collected.auditMs + performance.now() - written,
        }
        const moved = movedTo(batches.state, next)
        const state = this.#parts.isExact ? this.#audited(moved, collected, spent) : moved
        return { change, state, ends: !isLive && this.#failed === null, extendsRecord: isLive }
      },
      collected.isOpen ? { follows: 'COMMIT; ' } : {},
    )
    await this.#parts.changes.applied(next)
    if (this.#failed !== null) {
      ledger.auditFailed(this.#failed)
      // At once, with all rows: the audit is part of the position now.
      this.#collected = null
      this.#done = false
    }
    return done
  }

  async #compare({ audit }: Collected<Rows>): Promise<FailedAudit | null> {
    if (audit === null) return null
    const differing = await audit.compare()
    // A row that the mart refused is in quarantine, and its old version stays.
    if (differing === null || (await this.#attempt.ledger.hasRefusedRows())) return null
    return { ...differing, scopes: audit.scopes, keyQueries: this.#keyQueries }
  }

  #audited(
    state: CheckpointState,
    { audit }: Collected<Rows>,
    spent: Pick<ScopeAudit, 'runMs' | 'auditMs'>,
  ): CheckpointState {
    const failed = this.#failed
    const before = auditOf(state.position.audit, this.#parts.query)
    const after: ScopeAudit = {
      ...before,
      scopes: before.scopes + (audit?.scopes ?? 0),
      runMs: Math.round(before.runMs + spent.runMs),
      auditMs: Math.round(before.auditMs + spent.auditMs),
      ...(failed === null
        ? {}
        : { failed: { at: new Date().toISOString(), rows: failed.rows, key: failed.key } }),
    }
    return { ...state, position: { ...state.position, audit: after } }
  }

  /** Null: the mart has to be written row by row, or there is nothing to do. */
  async #collect(): Promise<Collected<Rows> | null> {
    const { source } = this.#attempt
    const began = performance.now()
    for (;;) {
      await this.#parts.changes.prepare()
      const found = await source.together(async () => {
        const begun = source.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
        const [, read] = await Promise.all([begun, this.#parts.changes.read()])
        return read
      })
      if (found !== null) return this.#collectRows(found, began)
      await source.run('ROLLBACK')
      await delay(AGAIN_MS)
    }
  }

  async #collectRows(found: FoundChanges, began: number): Promise<Collected<Rows> | null> {
    const { source, session } = this.#attempt
    const { next } = found
    const rows = await this.#affectedRows(found)
    if (rows === null && this.#parts.live?.isPositionDue() === false) {
      await source.run('ROLLBACK')
      return null
    }
    if (rows !== null && rows.scopes === null && !this.#route.rebuildsAtOnce) {
      await source.run('ROLLBACK')
      this.#everyRow = this.#parts.everyRow(next)
      return null
    }
    const changes =
      rows === null
        ? { stream: null, finish: async () => NO_CHANGE }
        : await this.#route.changes(rows).catch((error) => {
            throw databaseError(error, 'Reading the changed rows', 'source')
          })
    const computed = performance.now()
    const audit = rows === null || rows.scopes === null ? null : await this.#collectAudit()
    const collected = performance.now()
    const isOpen = source === session && changes.stream === null
    if (!isOpen) await source.run('COMMIT')
    return { next, changes, audit, isOpen, ms: collected - began, auditMs: collected - computed }
  }

  async #collectAudit(): Promise<CollectedAudit | null> {
    const { trace, query, isExact } = this.#parts
    const { auditor } = this.#route
    const { batches } = this.#attempt
    if (!isExact || auditor === null || !trace.traced) return null
    return isAuditDue(auditOf(batches.state.position.audit, query)) ? auditor.collect(trace) : null
  }

  /** Null: no row is affected. */
  async #affectedRows(found: FoundChanges): Promise<AffectedRows | null> {
    const { trace } = this.#parts
    const { source } = this.#attempt
    const { audit } = this.#attempt.batches.state.position
    const hasFailed = audit?.failed !== undefined && audit.query === this.#parts.query
    if (this.#failed !== null) return this.#everyRowOf(AUDIT_FAILED)
    if (found.full !== null) return this.#everyRowOf(found.full)
    if (found.tables.size === 0) return null
    if (!trace.traced) return this.#everyRowOf(trace.reason)
    if (hasFailed) return this.#everyRowOf(AUDIT_FAILED)
    const names = trace.scope.map(({ name }) => name)
    if (!this.#route.findsScopes(names))
      return this.#everyRowOf(
        `The target cannot find rows by (${names.join(', ')}), which is not the whole key.`,
      )
    const affected = await affectedScopes(source, trace, found)
    if (typeof affected === 'string') return this.#everyRowOf(affected)
    this.#keyQueries = affected.keyQueries
    const { scopes } = affected
    if (scopes[0]!.length === 0) return null
    const choice = await onSide('source', 'Choosing how to compute the changed rows', () =>
      chooseRecompute(source, trace.recompute, affected),
    )
    if (choice.way === 'full')
      return this.#everyRowOf(
        `The planner expects this to cost less than computing the rows of ${scopes[0]!.length} changed values of (${names.join(', ')}).`,
      )
    const text = recomputeText(trace, choice.way, scopes)
    return { selection: this.#ordered(text), scopes: { columns: trace.scope, values: scopes } }
  }

  #everyRowOf(reason: string): AffectedRows {
    this.#attempt.ledger.everyRowComputed(reason)
    return { selection: this.#ordered(this.#attempt.examined.query), scopes: null }
  }

  #ordered(query: string): string {
    const { columns, key } = this.#attempt.examined
    return `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${columnList(key)}`
  }
}
