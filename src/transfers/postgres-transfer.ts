import { createHash } from 'node:crypto'
import { type Claim, type Progress, type RunPlan, SESSION_PREFIX, sessionName } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { finalTarget, strategyOf, type Way } from '../model/pipeline.js'
import { type HeldBack, type HeldRow, NO_ROWS, type RepairKey } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { Ledger, Step, Transfer } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import { Session } from '../postgres/session.js'
import { type Checkpoint, CheckpointStore } from '../sinks/postgres/checkpoint.js'
import { createTarget, requireAssignable, type Target } from '../sinks/postgres/target.js'
import { canSweepFrom, changedKeysSql, type SweepFrom, sweepStart } from '../sources/postgres/changes.js'
import type { PlanFacts } from '../sources/postgres/describe.js'
import { Horizon } from '../sources/postgres/horizon.js'
import type { Column, Order } from '../sql/selection.js'
import { BatchRunner } from './batch.js'
import { ChangedRows } from './changed-rows.js'
import { examine, isSpread } from './examine.js'
import { Mend } from './mend.js'
import type { Mover } from './mover.js'
import { PagedPass, type PassParts, StagedPass } from './pass.js'
import { FullProgression, IncrementalProgression, type Progression } from './progression.js'
import { Pushdown } from './pushdown.js'
import { Relay } from './relay.js'
import { Replace, type WholeParts } from './replace.js'
import type { RowTransform } from './rows.js'
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
  readonly sourceSchemas: readonly string[]
  readonly transform: RowTransform | null
  /** Rules out pushdown, although it would be possible. */
  readonly way: Way | null
}

/** From one PostgreSQL into another, or into itself. */
export class PostgresTransfer implements Transfer {
  readonly #options: Options
  #open: Open | null = null
  #incremental: IncrementalProgression | null = null

  constructor(options: Options) {
    this.#options = options
  }

  prepare(): Promise<RunPlan> {
    return this.#prepare().catch((error) => {
      throw databaseError(error, 'Preparing the run')
    })
  }

  async #prepare(): Promise<RunPlan> {
    const { claim, signal, addresses } = this.#options
    const { pipeline } = claim
    const name = sessionName(claim)
    const way = this.#way()
    const target = await Session.open(addresses.target, name, signal)
    this.#open = new Open(target, target)
    if (way !== 'pushdown') this.#open = new Open(await Session.open(addresses.source, name, signal), target)
    const { source } = this.#open
    await this.#open.endPredecessors(claim)
    if (source !== target) await source.run('SET default_transaction_read_only = on')
    const { query, columns, key, order, facts, paged, guarantee, ...examined } = await examine(
      source,
      target,
      pipeline,
      this.#options.sourceSchemas,
    )
    const table =
      examined.target ?? (await createTarget(target, finalTarget(pipeline), columns, pipeline.keyColumns))
    await requireAssignable(target, table)
    const checkpoints = new CheckpointStore(target, pipeline.id, claim.fence)
    const isMain = addresses.isMain || (await isMainDatabase(target, claim))
    if (!isMain) await checkpoints.create()
    const checkpoint = await this.#checkpoint(checkpoints)
    failpoint('fence.taken')
    const mover =
      way === 'pushdown'
        ? new Pushdown(target)
        : new Relay({
            source,
            target,
            table,
            columns,
            transform: way === 'rows' ? (this.#options.transform ?? ((rows) => rows)) : null,
          })
    await mover.prepare()
    const batches = new BatchRunner(
      { session: target, checkpoints, ledger: this.#options.ledger, runId: claim.runId, isMain },
      checkpoint,
    )
    const [mart] = await target.rows(`SELECT EXISTS (SELECT FROM ${table.quoted})::text AS filled`)
    const sweepFrom =
      pipeline.mode === 'incremental' && pipeline.capture === 'xmin' ? await sweepStart(source) : null
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

  /** In another database the authoritative checkpoint has not heard yet of one that was set by hand. */
  async #checkpoint(checkpoints: CheckpointStore): Promise<Checkpoint> {
    const { ledger } = this.#options
    const found = await checkpoints.takeFence()
    const wish = await ledger.resetWish()
    if (wish === null) return found
    const checkpoint = await checkpoints.reset(wish)
    await ledger.resetDone()
    return checkpoint
  }

  fullPass(): Step {
    return this.#pass(
      'full',
      this.#made.order,
      new FullProgression('full', this.#fingerprint(), this.#made.batches.state),
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
    return this.#unlessDone({
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
    return this.#unlessDone(new Replace('replace', this.#whole()))
  }

  sweep(): Step {
    return this.#unlessDone(
      isSpread(this.#made.facts) ? new Replace('sweep', this.#whole()) : new Sweep(this.#whole()),
    )
  }

  get heldBack(): HeldBack | null {
    return this.#incremental?.heldBack ?? null
  }

  get progress(): Progress {
    return this.#open?.made?.batches.progress ?? { rows: NO_ROWS, batches: 0 }
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

  #way(): Way {
    const { transform, addresses, way } = this.#options
    if (way !== null) return way
    return transform !== null ? 'rows' : addresses.together ? 'pushdown' : 'relay'
  }

  async #isSweepable(source: Session, batches: BatchRunner): Promise<boolean> {
    const last = batches.state.position.xmin
    return last !== undefined && (await canSweepFrom(source, last))
  }

  #changedKeys(from: SweepFrom): Promise<string> {
    const { key, facts } = this.#made
    return changedKeysSql(this.#sessions.source, key, facts.relations, from)
  }

  /** The first sweep is a full pass; where the second begins was taken before it, and is kept if it is interrupted. */
  #initialSweep(from: SweepFrom): Step {
    const { batches, order } = this.#made
    const begun = batches.state.position.pass === undefined ? from : (batches.state.position.xminNext ?? from)
    const state = { ...batches.state, position: { ...batches.state.position, xminNext: begun } }
    const full = new FullProgression('initial', this.#fingerprint(), state)
    const progression: Progression = {
      after: full.after,
      unfinished: true,
      beforeRead: () => full.beforeRead(),
      moved: async (batch) => {
        const after = await full.moved(batch)
        if (!batch.isLast) return after
        const { xminNext, ...position } = after.position
        return { ...after, position: { ...position, ...(xminNext === undefined ? {} : { xmin: xminNext }) } }
      },
    }
    return this.#pass('initial', order, progression)
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
    return this.#unlessDone(
      atOnce ? new WholePass(parts) : paged ? new PagedPass(parts) : new StagedPass(parts),
    )
  }

  /** A run that is continued after its last batch would otherwise read everything once more. */
  #unlessDone(step: Step): Step {
    return this.#made.batches.isDone(step.name) ? { name: step.name, next: async () => null } : step
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
    const { query, columns, table, mover, batches, order } = this.#made
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
    }
  }

  /** A pass that was left unfinished can only be continued with the same query into the same target. */
  #fingerprint(): string {
    const { pipeline } = this.#options.claim
    const { query, table } = this.#made
    return createHash('sha256')
      .update(
        JSON.stringify([
          query,
          table.quoted,
          table.key,
          pipeline.sourceConnection,
          pipeline.targetConnection,
        ]),
      )
      .digest('hex')
      .slice(0, 16)
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

  /**
   * A predecessor that was frozen may still hold locks in an open transaction. It can commit nothing any more, but
   * waiting for it costs seconds; ending its sessions costs 12 ms. Never those of a successor: we may be the one who
   * was frozen.
   */
  async endPredecessors(claim: Claim): Promise<void> {
    for (const session of new Set([this.source, this.target])) {
      await session.rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE starts_with(application_name, $1) AND split_part(application_name, '/', 2)::bigint < $2 AND usename = current_user`,
        [`${SESSION_PREFIX}${claim.pipeline.id}/`, claim.fence],
      )
    }
  }

  async close(): Promise<void> {
    await Promise.all([...new Set([this.source, this.target])].map((session) => session.close()))
  }
}

/**
 * A named connection may lead back to the main database, by whatever address: there our own claim can be seen. Taken for
 * another database, the copy of the checkpoint would wait for the checkpoint itself.
 */
async function isMainDatabase(target: Session, claim: Claim): Promise<boolean> {
  const [meta] = await target.rows(
    "SELECT has_table_privilege(to_regclass('etl.etl_pipelines'), 'SELECT')::text AS readable",
  )
  if (meta!.readable !== 'true') return false
  const found = await target.rows(
    'SELECT 1 AS found FROM etl.etl_pipelines WHERE id = $1 AND fence = $2 AND current_run_id = $3',
    [claim.pipeline.id, claim.fence, claim.runId],
  )
  return found.length > 0
}

function once<T>(work: () => Promise<T>): () => Promise<T | null> {
  let done = false
  return async () => {
    if (done) return null
    done = true
    return work()
  }
}
