import { createHash } from 'node:crypto'
import type { Claim, Progress, RunPlan } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { finalTarget, type Guarantee, readerQuery, strategyOf, type Way } from '../model/pipeline.js'
import { type HeldBack, NO_ROWS } from '../model/run.js'
import { Session } from '../postgres/session.js'
import type { Ledger, Step, Transfer } from '../ports/transfer.js'
import { CheckpointStore } from '../sinks/postgres/checkpoint.js'
import { prepareTarget, requireColumn, type Target } from '../sinks/postgres/target.js'
import { canSweepFrom, changedKeysSql, type SweepFrom, sweepStart } from '../sources/postgres/changes.js'
import { describeQuery, type PlanFacts, planFacts } from '../sources/postgres/describe.js'
import { Horizon, isClockKey, isCountingKey } from '../sources/postgres/horizon.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column, columnList, type Order, orderBy } from '../sql/selection.js'
import { BatchRunner } from './batch.js'
import { ChangedRows } from './changed-rows.js'
import type { Mover } from './mover.js'
import { PagedPass, type PassParts, StagedPass } from './pass.js'
import { FullProgression, IncrementalProgression, type Progression } from './progression.js'
import { Pushdown } from './pushdown.js'
import { Relay } from './relay.js'
import { Replace, type WholeParts } from './replace.js'
import type { RowTransform } from './rows.js'
import { Sweep } from './sweep.js'
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

  async prepare(): Promise<RunPlan> {
    const { claim, signal, addresses } = this.#options
    const { pipeline } = claim
    const name = sessionName(claim)
    const target = await Session.open(addresses.target, name, signal)
    const way = this.#way()
    const source = way === 'pushdown' ? target : await Session.open(addresses.source, name, signal)
    this.#open = new Open(source, target)
    if (claim.recovered) await this.#open.endPredecessors(claim)
    if (source !== target) await source.run('SET default_transaction_read_only = on')
    const query = readerQuery(pipeline)
    const columns = await describeQuery(source, query)
    const table = await prepareTarget(target, finalTarget(pipeline), columns, pipeline.keyColumns)
    const order = this.#order(columns, table)
    const facts = await planFacts(source, `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${orderBy(order)} LIMIT 10000`)
    if (pipeline.mode === 'incremental' && pipeline.capture === 'key') await this.#requireUsableKey(order, facts, query)
    const checkpoints = new CheckpointStore(target, pipeline.id, claim.fence)
    if (!addresses.isMain) await checkpoints.create()
    const checkpoint = await checkpoints.takeFence()
    failpoint('fence.taken')
    const mover = way === 'pushdown' ? new Pushdown(target) : new Relay({ source, target, table, columns, transform: way === 'rows' ? (this.#options.transform ?? ((rows) => rows)) : null })
    await mover.prepare()
    const batches = new BatchRunner({ session: target, checkpoints, ledger: this.#options.ledger, runId: claim.runId, isMain: addresses.isMain }, checkpoint)
    const [mart] = await target.rows(`SELECT EXISTS (SELECT FROM ${table.quoted})::text AS filled`)
    const sweepFrom = pipeline.mode === 'incremental' && pipeline.capture === 'xmin' ? await sweepStart(source) : null
    this.#open.made = { query, columns, table, order, facts, mover, batches, martIsEmpty: mart!.filled === 'false', sweepFrom, isSweepable: await this.#isSweepable(source, batches) }
    // Refuses before anything is read what a changed row could not be traced through.
    if (sweepFrom !== null) await this.#changedKeys(sweepFrom)
    return { strategy: strategyOf(pipeline), way, guarantee: this.#guarantee(order, facts) }
  }

  fullPass(): Step {
    return this.#pass('full', this.#made.order, new FullProgression('full', this.#fingerprint(), this.#made.batches.state))
  }

  incrementalPass(): Step {
    const { order, facts, batches } = this.#made
    const horizon = new Horizon({ session: this.#sessions.source, key: order.columns[0]!, relations: facts.relations, self: sessionName(this.#options.claim) })
    this.#incremental = new IncrementalProgression(order, horizon, batches.state)
    return this.#pass('incremental', order, this.#incremental)
  }

  changedRows(): Step {
    const { batches, table, columns, sweepFrom, isSweepable } = this.#made
    const last = batches.state.position.xmin
    if (last === undefined || !isSweepable) return this.#initialSweep(sweepFrom!)
    const key = table.key.map((name) => requireColumn(columns, name, 'key_columns'))
    return {
      name: 'changed',
      next: once(async () => new ChangedRows({ ...this.#whole(), source: this.#sessions.source, changedKeys: await this.#changedKeys(last), key, next: sweepFrom! }).next()),
    }
  }

  replace(): Step {
    return new Replace(this.#whole())
  }

  sweep(): Step {
    return new Sweep(this.#whole())
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

  /** Incremental rows come in the order of their key; everything else in the order of the mart's key. */
  #order(columns: readonly Column[], table: Target): Order {
    const { pipeline } = this.#options.claim
    const key = table.key.map((name) => requireColumn(columns, name, 'key_columns'))
    if (pipeline.mode === 'full' || pipeline.capture === 'xmin') return { columns: key }
    if (pipeline.incrementalKey === null) {
      throw new VitrinaError('PIPELINE_INVALID', 'An incremental pipeline with capture "key" needs incremental_key.', 'Set incremental_key to the column that grows with every change, or choose capture "xmin".')
    }
    const first = requireColumn(columns, pipeline.incrementalKey, 'incremental_key')
    const ties = pipeline.incrementalIdKey === null ? key : [requireColumn(columns, pipeline.incrementalIdKey, 'incremental_id_key')]
    return { columns: [first, ...ties.filter((column) => column.name !== first.name)] }
  }

  /** A row whose key is NULL lies beyond no checkpoint: it would be missed for ever, so the run does not begin. */
  async #requireUsableKey(order: Order, facts: PlanFacts, query: string): Promise<void> {
    const { source } = this.#sessions
    await new Horizon({ session: source, key: order.columns[0]!, relations: facts.relations, self: '' }).requireSight()
    const doubtful = order.columns.filter((column) => !column.notNull || facts.outerJoin || facts.aggregates)
    if (doubtful.length === 0) return
    const nulls = doubtful.map((column) => `${quoteIdentifier(column.name)} IS NULL`)
    const found = await source.rows(`SELECT 1 AS found FROM ${asRelation(query)} WHERE ${nulls.join(' OR ')} LIMIT 1`)
    if (found.length > 0) {
      throw new VitrinaError('KEY_NULL', `The query returns rows where ${doubtful.map((column) => column.name).join(' or ')} is NULL: no checkpoint could ever cover them.`, 'Give them a value in the query (COALESCE), leave them out (WHERE … IS NOT NULL), or choose capture "xmin".')
    }
  }

  async #isSweepable(source: Session, batches: BatchRunner): Promise<boolean> {
    const last = batches.state.position.xmin
    return last !== undefined && (await canSweepFrom(source, last))
  }

  #changedKeys(from: SweepFrom): Promise<string> {
    const { table, columns, facts } = this.#made
    const key = table.key.map((name) => requireColumn(columns, name, 'key_columns'))
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
    const { facts, query, columns, mover, batches } = this.#made
    const paged = facts.walksIndex && order.columns.every((column) => column.notNull)
    const { source, target } = this.#sessions
    const writer = this.#writer(paged ? mover : new Pushdown(target), order, progression.after === null)
    const parts: PassParts = { name, query, columns, order, source, target, mover, writer, batches, progression }
    return paged ? new PagedPass(parts) : new StagedPass(parts)
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
    return { query, columns, table, target, mover, batches, writer: this.#writer(new Pushdown(target), order, true), brake: this.#options.claim.pipeline.deleteBrake }
  }

  /** A pass that was left unfinished can only be continued with the same query into the same target. */
  #fingerprint(): string {
    const { pipeline } = this.#options.claim
    const { query, table } = this.#made
    return createHash('sha256').update(JSON.stringify([query, table.quoted, table.key, pipeline.sourceConnection, pipeline.targetConnection])).digest('hex').slice(0, 16)
  }

  #guarantee(order: Order, facts: PlanFacts): Guarantee {
    const { pipeline } = this.#options.claim
    if (pipeline.mode === 'full') return 'lossless'
    // A row that leaves a group, by deletion or by a change of its key, does not show in the group it left.
    const losesGroups = facts.aggregates && pipeline.deletes === 'ignore'
    if (pipeline.capture === 'xmin') return losesGroups || facts.relations.length > 1 ? 'bounded' : 'lossless'
    const key = order.columns[0]!
    return !losesGroups && (isClockKey(key) || isCountingKey(key)) ? 'lossless if the database sets the key' : 'bounded'
  }
}

interface Made {
  readonly query: string
  readonly columns: readonly Column[]
  readonly table: Target
  readonly order: Order
  readonly facts: PlanFacts
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
   * waiting for it costs seconds; ending its sessions costs 12 ms.
   */
  async endPredecessors(claim: Claim): Promise<void> {
    for (const session of new Set([this.source, this.target])) {
      await session.rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name LIKE $1 AND application_name <> $2 AND usename = current_user AND pid <> pg_backend_pid()`,
        [`vitrina-run ${claim.runId}/%`, sessionName(claim)],
      )
    }
  }

  async close(): Promise<void> {
    await Promise.all([...new Set([this.source, this.target])].map((session) => session.close()))
  }
}

/** Says which run a session serves, and with which fence. */
function sessionName(claim: Claim): string {
  return `vitrina-run ${claim.runId}/${claim.fence}`
}

function once<T>(work: () => Promise<T>): () => Promise<T | null> {
  let done = false
  return async () => {
    if (done) return null
    done = true
    return work()
  }
}
