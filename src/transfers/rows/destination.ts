import type { Claim } from '../../model/claim.js'
import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import { finalTarget, isReplaced } from '../../model/pipeline.js'
import type { Finding } from '../../model/validation.js'
import type { Sink, SinkKind } from '../../ports/sink.js'
import type { Ledger } from '../../ports/transfer.js'
import type { TransformHosts } from '../../ports/transforms.js'
import type { Session } from '../../postgres/session.js'
import { type Hold, openSink } from '../../sinks/open.js'
import { createTarget, findTarget, requireAssignable, type Target } from '../../sinks/postgres/target.js'
import type { Column, Order } from '../../sql/selection.js'
import { identityOf } from '../attempt.js'
import type { SourceRules } from '../examine.js'
import type { Mart } from './mart.js'
import { SinkMart } from './sink-mart.js'
import { TableMart } from './table-mart.js'

export interface RowsOptions {
  readonly claim: Claim
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly sourceUrl: string
  readonly rules: SourceRules
  readonly transforms: TransformHosts
}

/** Where the rows of an attempt go, and where its checkpoint lives. */
export interface Destination {
  /** The database with the checkpoint. */
  readonly stateUrl: string
  /** That is the main database, by its address. */
  readonly isMain: boolean
  /** Rows and checkpoint are committed together. */
  readonly transactional: boolean
  /** Looks at the mart for rows with these columns; returns those that identify a row there. Changes nothing. */
  find(session: Session, columns: readonly Column[]): Promise<readonly string[]>
  /** Creates what is missing. */
  create(): Promise<void>
  /** Which mart this is now, and whether it was not there before. */
  identity(): Promise<{ readonly identity: string | null; readonly isNew: boolean }>
  open(options: {
    readonly order: Order
    readonly refusedSoFar: number
    /** No unfinished pass is continued. */
    readonly fromStart: boolean
  }): Promise<Mart>
  close(): Promise<void>
}

/** A table of PostgreSQL. */
export class TableDestination implements Destination {
  readonly stateUrl: string
  readonly isMain: boolean
  readonly transactional = true
  readonly #claim: Claim
  #session: Session | null = null
  #columns: readonly Column[] = []
  #table: Target | null = null
  #exists = true

  constructor(claim: Claim, address: { readonly url: string; readonly isMain: boolean }) {
    this.#claim = claim
    this.stateUrl = address.url
    this.isMain = address.isMain
  }

  async find(session: Session, columns: readonly Column[]): Promise<readonly string[]> {
    const { pipeline } = this.#claim
    this.#session = session
    this.#columns = columns
    this.#table = await findTarget(session, finalTarget(pipeline), columns, pipeline.keyColumns)
    this.#exists = this.#table !== null
    return this.#table?.key ?? pipeline.keyColumns
  }

  async create(): Promise<void> {
    const { pipeline } = this.#claim
    this.#table ??= await createTarget(
      this.#session!,
      finalTarget(pipeline),
      this.#columns,
      pipeline.keyColumns,
    )
    await requireAssignable(this.#session!, this.#table)
  }

  async identity(): Promise<{ identity: string; isNew: boolean }> {
    return { identity: await identityOf(this.#session!, this.#table!), isNew: !this.#exists }
  }

  async open({ order, refusedSoFar, fromStart }: Parameters<Destination['open']>[0]): Promise<Mart> {
    const { pipeline } = this.#claim
    const session = this.#session!
    const table = this.#table!
    const [mart] = await session.rows(`SELECT EXISTS (SELECT FROM ${table.quoted})::text AS filled`)
    const names = this.#columns.map((column) => column.name)
    return TableMart.open({
      session,
      table,
      columns: this.#columns,
      brake: pipeline.deleteBrake,
      writing: {
        newestBy: order.columns
          .map((column) => column.name)
          .filter((name) => names.includes(name) && !table.key.includes(name)),
        quarantineLimit: pipeline.quarantineLimit,
        empty: mart!.filled === 'false' && fromStart,
        refusedSoFar,
      },
    })
  }

  async close(): Promise<void> {}
}

/** Whatever stands behind a sink. The checkpoint is kept in the main database, and follows the rows. */
export class SinkDestination implements Destination {
  readonly stateUrl: string
  readonly isMain = true
  readonly transactional = false
  readonly #claim: Claim
  readonly #kind: SinkKind
  readonly #hold: Hold
  #sink: Sink | null = null
  #columns: readonly Column[] = []
  #key: readonly string[] = []
  #exists = true

  constructor(claim: Claim, kind: SinkKind, { url, hold }: { readonly url: string; readonly hold: Hold }) {
    this.#claim = claim
    this.#kind = kind
    this.#hold = hold
    this.stateUrl = url
  }

  async find(_session: Session, columns: readonly Column[]): Promise<readonly string[]> {
    const { sink, key } = await openSink(this.#kind, this.#claim.pipeline, columns, this.#hold)
    this.#sink = sink
    this.#columns = columns
    this.#key = key
    const { errors, exists } = await sink.examine()
    this.#exists = exists
    if (errors.length > 0) throw asError(errors)
    return key
  }

  async create(): Promise<void> {
    await this.#sink!.prepare()
  }

  async identity(): Promise<{ identity: string | null; isNew: boolean }> {
    // Made anew by every run, so that no checkpoint speaks of it.
    if (isReplaced(this.#claim.pipeline)) return { identity: null, isNew: false }
    return { identity: (await this.#sink!.identity?.()) ?? null, isNew: !this.#exists }
  }

  async open({ refusedSoFar }: Parameters<Destination['open']>[0]): Promise<Mart> {
    const { pipeline, runId } = this.#claim
    return new SinkMart({
      sink: this.#sink!,
      target: finalTarget(pipeline),
      columns: this.#columns,
      key: this.#key,
      runId,
      quarantineLimit: pipeline.quarantineLimit,
      refusedSoFar,
    })
  }

  async close(): Promise<void> {
    await this.#sink?.close()
  }
}

function asError(errors: readonly Finding[]): VitrinaError {
  const [first] = errors
  const code: ErrorCode = Object.hasOwn(ERRORS, first!.code) ? (first!.code as ErrorCode) : 'TARGET_MISMATCH'
  return new VitrinaError(code, errors.map((error) => error.message).join(' '), first!.hint)
}
