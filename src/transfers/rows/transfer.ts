import { type PassStart, passFingerprint } from '../../checkpoints/checkpoint.js'
import { CheckpointStore } from '../../checkpoints/checkpoint-store.js'
import { type RunPlan, sessionName } from '../../model/claim.js'
import { failpoint } from '../../model/failpoints.js'
import { strategyOf, transformNames } from '../../model/pipeline.js'
import { type HeldBack, type HeldRow, NO_ROWS, type RepairKey, rowsWritten } from '../../model/run.js'
import type { MetaSession } from '../../ports/run-queue.js'
import type { Step, Transfer } from '../../ports/transfer.js'
import type { TransformChain } from '../../ports/transforms.js'
import { databaseError, onSide } from '../../postgres/errors.js'
import { READ_ONLY, Session } from '../../postgres/session.js'
import { canSweepFrom, changedKeysSql, type SweepFrom, sweepStart } from '../../sources/postgres/changes.js'
import { isSpread } from '../../sources/postgres/describe.js'
import { Horizon } from '../../sources/postgres/horizon.js'
import {
  begunNow,
  checkpointFor,
  endPredecessors,
  isMainDatabase,
  takeCheckpoint,
  unlessDone,
} from '../attempt.js'
import { BatchRunner, batchMs } from '../batch.js'
import { type Examined, examine } from '../examine.js'
import { FullProgression, IncrementalProgression, initialSweep, type Progression } from '../progression.js'
import { RowsChanged } from './changed.js'
import type { Destination, RowsOptions } from './destination.js'
import type { Mart } from './mart.js'
import { RowsMend } from './mend.js'
import { Preparation, type RowsParts, RowsPass } from './pass.js'
import { OnceReader, PagedReader } from './reader.js'
import { RowsReplace } from './replace.js'
import { RowsSweep, type SweepParts } from './sweep.js'

/**
 * Rows are read, changed by transforms or not, and written: for task plans, and for every target that is not a table of
 * PostgreSQL. Reading, transforming and writing overlap; batches are written and checkpointed one after another.
 */
export class RowsTransfer implements Transfer {
  readonly #options: RowsOptions
  readonly #destination: Destination
  readonly #closing: (() => Promise<unknown>)[] = []
  #made: Made | null = null
  #incremental: IncrementalProgression | null = null

  constructor(options: RowsOptions, destination: Destination) {
    this.#options = options
    this.#destination = destination
  }

  prepare(): Promise<RunPlan> {
    return this.#prepare().catch((error) => {
      throw databaseError(error, 'Preparing the run', 'target')
    })
  }

  async #prepare(): Promise<RunPlan> {
    const { claim, ledger, rules } = this.#options
    const { pipeline } = claim
    this.#closing.push(() => this.#destination.close())
    const { transactional, isMain: isMainByAddress } = this.#destination
    // Where the checkpoint is: beside the rows, or in the main database when the rows go to a sink.
    const stateSide = transactional ? 'target' : 'meta store'
    const session = await onSide(stateSide, `Connecting to the ${stateSide}`, () =>
      this.#session(this.#destination.stateUrl),
    )
    const source = await onSide('source', 'Connecting to the source', () =>
      this.#session(this.#options.sourceUrl),
    )
    await endPredecessors([source, session], claim)
    await source.run(READ_ONLY)
    let chain: TransformChain | null = null
    const findKey = async (columns: Examined['columns']) => {
      chain = await this.#chain(columns)
      const written = (chain as TransformChain | null)?.columns ?? columns
      return onSide('target', 'Looking at the target', () => this.#destination.find(session, written))
    }
    const examined = await onSide('source', 'Looking at the source', () =>
      examine(source, pipeline, rules, findKey),
    )
    await this.#destination.create()
    const checkpoints = new CheckpointStore(session, pipeline.id, claim.fence)
    const isMain = isMainByAddress || (await isMainDatabase(session, claim))
    if (!isMain) await checkpoints.create()
    const mart = await this.#destination.identity()
    const taken = await onSide(isMain ? 'meta store' : 'target', 'Reading the checkpoint', () =>
      takeCheckpoint(checkpoints, ledger),
    )
    const { checkpoint, isReset } = await checkpointFor(checkpoints, taken, mart)
    if (isReset) ledger.martIsNew()
    failpoint('fence.taken')
    const batches = new BatchRunner(
      { session, checkpoints, ledger, runId: claim.runId, isMain, transactional, identity: mart.identity },
      checkpoint,
    )
    const sweepFrom =
      pipeline.mode === 'incremental' && pipeline.capture === 'xmin'
        ? await onSide('source', 'Reading the position of the source', () => sweepStart(source))
        : null
    const last = batches.state.position.xmin
    this.#made = {
      examined,
      source,
      session,
      chain,
      batches,
      mart: await this.#destination.open({
        order: examined.order,
        refusedSoFar: batches.progress.rows.quarantined,
        fromStart: batches.state.position.pass === undefined,
      }),
      begun: await begunNow(source, session),
      sweepFrom,
      isSweepable: last !== undefined && (await canSweepFrom(source, last)),
    }
    // Refuses before anything is read what a changed row could not be traced through.
    if (sweepFrom !== null) await this.#changedKeys(sweepFrom)
    return { strategy: strategyOf(pipeline), way: 'rows', guarantee: examined.guarantee }
  }

  replay(held: readonly HeldRow[]): Step {
    const { key } = this.#ready.examined
    const keys = held.map((row) => key.map((column) => row.texts[row.columns.indexOf(column.name)] ?? null))
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      this.#options.ledger.replayed(held.slice(first, first + count), meta)
    return new RowsMend('replay', { ...this.#whole(), keyColumns: key, keys, removeAbsent: false, settle })
  }

  repair(asked: readonly RepairKey[]): Step {
    const keys = asked.map((row) => row.key)
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      this.#options.ledger.repaired(asked.slice(first, first + count), meta)
    const keyColumns = this.#ready.examined.key
    return new RowsMend('repair', { ...this.#whole(), keyColumns, keys, removeAbsent: true, settle })
  }

  fullPass(): Step {
    const { batches, begun } = this.#ready
    return this.#pass('full', new FullProgression('full', this.#fingerprint(), batches.state, begun))
  }

  incrementalPass(): Step {
    const { examined, batches, source } = this.#ready
    const horizon = new Horizon({
      session: source,
      key: examined.order.columns[0]!,
      relations: examined.facts.relations,
      self: sessionName(this.#options.claim),
    })
    this.#incremental = new IncrementalProgression(examined.order, horizon, batches.state)
    return this.#pass('incremental', this.#incremental)
  }

  changedRows(): Step {
    const { batches, begun, sweepFrom, isSweepable, examined } = this.#ready
    const last = batches.state.position.xmin
    if (last === undefined || !isSweepable)
      return this.#pass('initial', initialSweep(this.#fingerprint(), batches.state, sweepFrom!, begun))
    let changed: RowsChanged | null = null
    this.#closing.push(async () => changed?.close())
    return unlessDone(batches, {
      name: 'changed',
      next: async (limit) => {
        changed ??= new RowsChanged({
          ...this.#whole(),
          changedKeys: await this.#changedKeys(last),
          keyColumns: examined.key,
          next: sweepFrom!,
          brake: this.#options.claim.pipeline.deleteBrake,
        })
        return changed.next(limit)
      },
    })
  }

  replace(): Step {
    const { batches, mart } = this.#ready
    let step: RowsReplace | null = null
    return unlessDone(batches, {
      name: 'replace',
      next: async (limit) => {
        step ??= await this.#replaceStep(mart)
        return step.next(limit)
      },
    })
  }

  /** Where several rows of the source make one of the mart, what was deleted there leaves no trace: all is written anew. */
  sweep(): Step {
    const { batches, examined } = this.#ready
    const removal = new RowsSweep(this.#whole())
    if (!isSpread(examined.facts) || batches.isDone('sweep')) return unlessDone(batches, removal)
    const again = this.#reading(new FullProgression('again', this.#fingerprint(), withoutPass(batches), null))
    const keeping: Progression = { ...again.progression, moved: async () => batches.state }
    const pass = new RowsPass('recompute', this.#whole(), { ...again, progression: keeping })
    return { name: 'sweep', next: async (limit) => (await pass.next(limit)) ?? removal.next() }
  }

  publish(): Step | null {
    const { batches, mart } = this.#ready
    const { publish } = mart
    if (publish === null) return null
    let done = false
    return {
      name: 'publish',
      next: async () => {
        const { rows } = batches.progress
        const nothing = batches.unpublished.length === 0 && rowsWritten(rows) + rows.deleted === 0
        if (done || nothing || batches.isDone('replace')) return null
        done = true
        return batches.run('publish', async (number) => {
          await publish(batches.unpublished, this.#idOf(number))
          return {
            ...batches.state,
            rows: NO_ROWS,
            published: true,
            firstKey: null,
            lastKey: null,
            ends: true,
          }
        })
      },
    }
  }

  get batchMs(): number {
    return batchMs(this.#destination.transactional)
  }

  get heldBack(): HeldBack | null {
    return this.#incremental?.heldBack ?? null
  }

  /** What reads ahead is cut off by the sessions that it reads with. */
  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close().catch(() => {})
  }

  get #ready(): Made {
    return this.#made!
  }

  async #session(url: string): Promise<Session> {
    const { claim, signal } = this.#options
    const session = await Session.open(url, sessionName(claim), signal)
    this.#closing.push(() => session.close())
    return session
  }

  async #chain(columns: Examined['columns']): Promise<TransformChain | null> {
    const { claim, signal, transforms, ledger } = this.#options
    const names = transformNames(claim.pipeline)
    if (names.length === 0) return null
    const chain = await transforms.open(names, columns, { signal, said: (line) => ledger.said(line) })
    this.#closing.push(() => chain.close())
    return chain
  }

  #changedKeys(from: SweepFrom): Promise<string> {
    const { examined, source } = this.#ready
    return onSide('source', 'Looking for the changed rows', () =>
      changedKeysSql(source, examined.key, examined.facts.relations, from),
    )
  }

  #pass(name: string, progression: Progression): Step {
    return unlessDone(this.#ready.batches, new RowsPass(name, this.#whole(), this.#reading(progression)))
  }

  async #replaceStep(mart: Mart): Promise<RowsReplace> {
    const replacement = await mart.replacement()
    const { batches } = this.#ready
    const { runId } = this.#options.claim
    const from = replacement.isResumable ? batches.state : withoutPass(batches)
    const progression = new FullProgression('replace', `${this.#fingerprint()}/${runId}`, from, null)
    return new RowsReplace(this.#whole(), replacement, this.#reading(progression))
  }

  #reading(progression: Progression): { progression: Progression; preparation: Preparation } {
    const { examined, source, chain } = this.#ready
    const { query, columns, order, facts, paged } = examined
    const parts = { source, query, columns, relations: facts.relations, order, progression }
    const preparation = new Preparation(paged ? new PagedReader(parts) : new OnceReader(parts), chain)
    this.#closing.push(() => preparation.close())
    return { progression, preparation }
  }

  #whole(): SweepParts {
    const { source, session, chain, mart, batches, begun, examined } = this.#ready
    const { query, columns, key } = examined
    const read = begun === null ? null : { ...begun, fingerprint: this.#fingerprint() }
    const idOf = (number: number) => this.#idOf(number)
    const parts: RowsParts = { source, session, chain, mart, batches, read, idOf }
    return { ...parts, query, columns, key: key.map((column) => column.name) }
  }

  #idOf(number: number): ReturnType<RowsParts['idOf']> {
    const { pipeline, runId, fence } = this.#options.claim
    return { pipelineId: pipeline.id, runId, fence, number }
  }

  #fingerprint(): string {
    const { query, key } = this.#ready.examined
    return passFingerprint(
      this.#options.claim.pipeline,
      query,
      key.map((column) => column.name),
    )
  }
}

function withoutPass(batches: BatchRunner): BatchRunner['state'] {
  const { pass: _pass, ...position } = batches.state.position
  return { ...batches.state, position }
}

interface Made {
  readonly examined: Examined
  readonly source: Session
  readonly session: Session
  readonly chain: TransformChain | null
  readonly batches: BatchRunner
  readonly mart: Mart
  readonly begun: PassStart | null
  readonly sweepFrom: SweepFrom | null
  readonly isSweepable: boolean
}
