import { VitrinaError } from '../model/errors.js'
import type { MartProfile, MartRows, RowsQuestion } from '../model/mart-data.js'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import { kindOf, type TargetRules } from '../model/target.js'
import type { MartData } from '../ports/mart-data.js'
import type { SinkKind } from '../ports/sink.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { databaseError, onSide } from '../postgres/errors.js'
import { KeptSessions } from '../postgres/kept-sessions.js'
import type { Session } from '../postgres/session.js'
import { findMartTable, type MartTable } from './mart-table.js'
import { estimateRows, PROFILE_LIMITS, type ProfileLimits, profileMart } from './profile.js'
import { readRows } from './read-rows.js'

export interface MartDataSettings {
  /** A login that can read the marts of the main database but not change them. */
  readonly martUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  /** Smaller in tests. */
  readonly limits?: ProfileLimits
  /** For each statement that reads rows. */
  readonly statementMs?: number
}

/** A page of rows is worth no more time than this. */
const STATEMENT_MS = 10_000

/** Rows and profiles of marts in PostgreSQL. Reads in one snapshot that can change nothing. */
export class PostgresMartData implements MartData {
  readonly #settings: MartDataSettings
  readonly #kept = new KeptSessions()

  constructor(settings: MartDataSettings) {
    this.#settings = settings
  }

  close(): Promise<void> {
    return this.#kept.close()
  }

  rows(pipeline: Pipeline, question: RowsQuestion, signal: AbortSignal): Promise<MartRows> {
    return this.#reading(pipeline, signal, async (session, table) => ({
      ...(await readRows(session, table, question)),
      rowsEstimate: await estimateRows(session, table),
    }))
  }

  profile(pipeline: Pipeline, signal: AbortSignal): Promise<MartProfile> {
    return this.#reading(pipeline, signal, (session, table) =>
      profileMart(session, table, this.#settings.limits ?? PROFILE_LIMITS),
    )
  }

  async #reading<T>(
    pipeline: Pipeline,
    signal: AbortSignal,
    work: (session: Session, table: MartTable) => Promise<T>,
  ): Promise<T> {
    const { connections, martUrl, targets, statementMs = STATEMENT_MS } = this.#settings
    const address = finalTarget(pipeline)
    requirePostgres(address, targets)
    const url = connectionUrl(connections, pipeline.targetConnection, martUrl)
    const session = await onSide('target', 'Connecting to the mart', () =>
      this.#kept.open(url, { name: 'vitrina-data', purpose: 'inspection' }, signal),
    )
    try {
      await session.run(
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = '2s'`,
      )
      const found = await work(session, await findMartTable(session, address, targets))
      await session.run('ROLLBACK')
      return found
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      throw readingError(error, address)
    } finally {
      await session.close()
    }
  }
}

function requirePostgres(address: string, targets: TargetRules<SinkKind>): void {
  const found = kindOf(address, targets)
  if (found === null) return
  throw new VitrinaError(
    'ROWS_UNSUPPORTED',
    `The rows of ${address} cannot be shown: only marts in PostgreSQL can be read here.`,
    `Query the mart with the tools of its own server (${found.kind.kind}).`,
  )
}

function readingError(error: unknown, address: string): VitrinaError {
  const known = databaseError(error, `Reading ${address}`, 'target')
  if (known.sqlstate !== '57014' && (known.cause as Error | undefined)?.name !== 'TimeoutError') return known
  return new VitrinaError(
    'MART_TOO_SLOW',
    `Reading ${address} exceeded its time limit.`,
    'Sort by the key or by a column with an index, and filter by columns with an index.',
    { cause: known.cause },
  )
}
