import { type PassStart, passFingerprint } from '../checkpoints/checkpoint.js'
import { CheckpointStore } from '../checkpoints/checkpoint-store.js'
import { type Claim, type RunPlan, sessionName } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { finalTarget, strategyOf } from '../model/pipeline.js'
import type { HeldBack, HeldRow, RepairKey } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { Ledger, Step, Transfer } from '../ports/transfer.js'
import { databaseError, onSide } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { createTarget, findTarget, requireAssignable, type Target } from '../sinks/postgres/target.js'
import { canSweepFrom, changedKeysSql, type SweepFrom, sweepStart } from '../sources/postgres/changes.js'
import { isSpread, type PlanFacts } from '../sources/postgres/describe.js'
import { Horizon } from '../sources/postgres/horizon.js'
import type { Column, Order } from '../sql/selection.js'
import {
  begunNow,
  checkpointFor,
  endPredecessors,
  identityOf,
  isMainDatabase,
  takeCheckpoint,
  unlessDone,
} from './attempt.js'
import { BatchRunner, batchMs } from './batch.js'
import { ChangedRows } from './changed-rows.js'
import { examine, type SourceRules } from './examine.js'
import { Mend } from './mend.js'
import type { Mover } from './mover.js'
import { PagedPass, type PassParts, StagedPass } from './pass.js'
import { FullProgression, IncrementalProgression, initialSweep, type Progression } from './progression.js'
import { Pushdown } from './pushdown.js'
import { Relay } from './relay.js'
import { Replace, type WholeParts } from './replace.js'
import { Sweep } from './sweep.js'
import { MOST_ROWS_AT_ONCE, WholePass } from './whole-pass.js'
import { MartWriter } from './writer.js'

export interface Addresses {
  /** Where the query is read; with pushdown, the target session reads it instead. */
  readonly source: string
  readonly target: string
  /** Both are the same database. */
  readonly together: boolean
  /** The target is the main database, which holds the meta store. */
  readonly isMain: boolean
}

interface Options {
  readonly claim: Claim
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly addresses: Addresses
  readonly rules: SourceRules
  /** Rules out pushdown, although it would be possible. */
  readonly way: 'pushdown' | 'relay' | null
}

/** From one PostgreSQL into another, or into itself, without a look at the values. */
export class PostgresTransfer implements Transfer {
  readonly #options: Options
  #open: Open | null = null
  #incremental: IncrementalProgression | null = null

  constructor(options: Options) {
    this.#options = options
  }

  prepare(): Promise<RunPlan> {
    return this.#prepare().catch((error) => {
      throw databaseError(error, 'Preparing the run', 'target')
    })
  }

  async #prepare(): Promise<RunPlan> {
    const { claim, signal, addresses, ledger } = this.#options
    const { pipeline } = claim
    const name = sessionName(claim)
    const way = this.#way()
    const target = await onSide('target', 'Connecting to the target', () =>
      Session.open(addresses.target, name, signal),
    )
    this.#open = new Open(target, target)
    if (way !== 'pushdown') this.#open = new Open(await this.#openSource(name), target)
    const { source } = this.#open
    await endPredecessors([source, target], claim)
    if (source !== target) await source.run(READ_ONLY)
    let found: Target | null = null
    const findKey = (columns: readonly Column[]) =>
      onSide('target', `Looking at ${finalTarget(pipeline)}`, async () => {
        found = await findTarget(target, finalTarget(pipeline), columns, pipeline.keyColumns)
        return found?.key ?? pipeline.keyColumns
      })
    const examined = await onSide('source', 'Looking at the source', () =>
      examine(source, pipeline, this.#options.rules, findKey),
    )
    const { query, columns, key, order, facts, paged, guarantee } = examined
    const table = found ?? (await createTarget(target, finalTarget(pipeline), columns, pipeline.keyColumns))
    await requireAssignable(target, table)
    const checkpoints = new CheckpointStore(target, pipeline.id, claim.fence)
    const isMain = addresses.isMain || (await isMainDatabase(target, claim))
    if (!isMain) await checkpoints.create()
    const taken = await onSide(isMain ? 'meta store' : 'target', 'Reading the checkpoint', () =>
      takeCheckpoint(checkpoints, ledger),
    )
    const identity = await identityOf(target, table)
    const { checkpoint, isReset } = await checkpointFor(checkpoints, taken, {
      identity,
      isNew: found === null,
    })
    if (isReset) ledger.martIsNew()
    failpoint('fence.taken')
    const mover = way === 'pushdown' ? new Pushdown(target) : new Relay({ source, target, table, columns })
    await mover.prepare()
    const batches = new BatchRunner(
      {
        session: target,
        checkpoints,
        ledger,
        runId: claim.runId,
        isMain,
        transactional: true,
        identity,
      },
      checkpoint,
    )
    const [mart] = await target.rows(`SELECT EXISTS (SELECT FROM ${table.quoted})::text AS filled`)
    const sweepFrom =
      pipeline.mode === 'incremental' && pipeline.capture === 'xmin'
        ? await onSide('source', 'Reading the position of the source', () => sweepStart(source))
        : null
    this.#open.made = {
      query,
      columns,
      table,
      key,
      order,
      facts,
      paged,
      mover,
      batches,
      martIsEmpty: mart!.filled === 'false',
      begun: await begunNow(source, target),
      sweepFrom,
      isSweepable: await this.#isSweepable(source, batches),
    }
    // Refuses before anything is read what a changed row could not be traced through.
    if (sweepFrom !== null) await this.#changedKeys(sweepFrom)
    return { strategy: strategyOf(pipeline), way, guarantee }
  }

  replay(held: readonly HeldRow[]): Step {
    const { key } = this.#made
    const keys = held.map((row) => key.map((column) => row.texts[row.columns.indexOf(column.name)] ?? null))
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      this.#options.ledger.replayed(held.slice(first, first + count), meta)
    return new Mend('replay', { ...this.#whole(), key, keys, removeAbsent: false, settle })
  }

  repair(asked: readonly RepairKey[]): Step {
    const keys = asked.map((row) => row.key)
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      this.#options.ledger.repaired(asked.slice(first, first + count), meta)
    return new Mend('repair', { ...this.#whole(), key: this.#made.key, keys, removeAbsent: true, settle })
  }

  fullPass(): Step {
    return this.#pass(
      'full',
      this.#made.order,
      new FullProgression('full', this.#fingerprint(), this.#made.batches.state, this.#made.begun),
    )
  }

  incrementalPass(): Step {
    const { order, facts, batches } = this.#made
    const horizon = new Horizon({
      session: this.#sessions.source,
      key: order.columns[0]!,
      relations: facts.relations,
      self: sessionName(this.#options.claim),
    })
    this.#incremental = new IncrementalProgression(order, horizon, batches.state)
    return this.#pass('incremental', order, this.#incremental)
  }

  changedRows(): Step {
    const { batches, key, sweepFrom, isSweepable } = this.#made
    const last = batches.state.position.xmin
    if (last === undefined || !isSweepable) return this.#initialSweep(sweepFrom!)
    return unlessDone(this.#made.batches, {
      name: 'changed',
      next: once(async () =>
        new ChangedRows({
          ...this.#whole(),
          source: this.#sessions.source,
          changedKeys: await this.#changedKeys(last),
          key,
          next: sweepFrom!,
        }).next(),
      ),
    })
  }

  replace(): Step {
    return unlessDone(this.#made.batches, new Replace('replace', this.#whole()))
  }

  sweep(): Step {
    return unlessDone(
      this.#made.batches,
      isSpread(this.#made.facts) ? new Replace('sweep', this.#whole()) : new Sweep(this.#whole()),
    )
  }

  /** What is committed is seen. */
  publish(): null {
    return null
  }

  get batchMs(): number {
    return batchMs(true)
  }

  get heldBack(): HeldBack | null {
    return this.#incremental?.heldBack ?? null
  }

  async close(): Promise<void> {
    await this.#open?.close()
  }

  get #made(): Made {
    return this.#open!.made!
  }

  get #sessions(): Open {
    return this.#open!
  }

  #way(): 'pushdown' | 'relay' {
    const { addresses, way } = this.#options
    return way ?? (addresses.together ? 'pushdown' : 'relay')
  }

  async #isSweepable(source: Session, batches: BatchRunner): Promise<boolean> {
    const last = batches.state.position.xmin
    return last !== undefined && (await canSweepFrom(source, last))
  }

  #changedKeys(from: SweepFrom): Promise<string> {
    const { key, facts } = this.#made
    return onSide('source', 'Looking for the changed rows', () =>
      changedKeysSql(this.#sessions.source, key, facts.relations, from),
    )
  }

  #openSource(name: string): Promise<Session> {
    const { addresses, signal } = this.#options
    return onSide('source', 'Connecting to the source', () => Session.open(addresses.source, name, signal))
  }

  /** The first sweep is a full pass. */
  #initialSweep(from: SweepFrom): Step {
    const { batches, order, begun } = this.#made
    return this.#pass('initial', order, initialSweep(this.#fingerprint(), batches.state, from, begun))
  }

  /** Along an index when the planner would walk one, else read once. */
  #pass(name: string, order: Order, progression: Progression): Step {
    const { facts, query, columns, mover, batches, paged } = this.#made
    const { source, target } = this.#sessions
    // A size that somebody set is kept; `auto` leaves it to us.
    const { batchSize } = this.#options.claim.pipeline
    const atOnce =
      !paged &&
      name === 'full' &&
      batchSize === null &&
      progression.after === null &&
      facts.rows <= MOST_ROWS_AT_ONCE
    const writer = this.#writer(
      paged || atOnce ? mover : new Pushdown(target),
      order,
      progression.after === null,
    )
    const parts: PassParts = {
      name,
      query,
      columns,
      relations: facts.relations,
      order,
      source,
      target,
      mover,
      writer,
      batches,
      progression,
    }
    return unlessDone(
      this.#made.batches,
      atOnce ? new WholePass(parts) : paged ? new PagedPass(parts) : new StagedPass(parts),
    )
  }

  #writer(mover: Mover, order: Order, fromStart: boolean): MartWriter {
    const { table, batches, martIsEmpty } = this.#made
    return new MartWriter({
      session: this.#sessions.target,
      target: table,
      mover,
      newestBy: order.columns.map((column) => column.name).filter((column) => !table.key.includes(column)),
      quarantineLimit: this.#options.claim.pipeline.quarantineLimit,
      empty: martIsEmpty && fromStart,
      refusedSoFar: batches.progress.rows.quarantined,
    })
  }

  #whole(): WholeParts {
    const { query, columns, table, mover, batches, order, begun } = this.#made
    const { target } = this.#sessions
    return {
      query,
      columns,
      table,
      target,
      mover,
      batches,
      writer: this.#writer(new Pushdown(target), order, true),
      brake: this.#options.claim.pipeline.deleteBrake,
      read: begun === null ? null : { ...begun, fingerprint: this.#fingerprint() },
    }
  }

  #fingerprint(): string {
    const { query, table } = this.#made
    return passFingerprint(this.#options.claim.pipeline, query, table.key)
  }
}

interface Made {
  readonly query: string
  readonly columns: readonly Column[]
  readonly table: Target
  readonly key: readonly Column[]
  readonly order: Order
  readonly facts: PlanFacts
  readonly paged: boolean
  readonly mover: Mover
  readonly batches: BatchRunner
  readonly martIsEmpty: boolean
  readonly begun: PassStart | null
  readonly sweepFrom: SweepFrom | null
  readonly isSweepable: boolean
}

/** The open sessions of an attempt; one and the same when the rows stay in one database. */
class Open {
  made: Made | null = null

  constructor(
    readonly source: Session,
    readonly target: Session,
  ) {}

  async close(): Promise<void> {
    await Promise.all([...new Set([this.source, this.target])].map((session) => session.close()))
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T | null> {
  let done = false
  return async () => {
    if (done) return null
    done = true
    return work()
  }
}
