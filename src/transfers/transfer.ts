import { type RunPlan, sessionName } from '../model/claim.js'
import { strategyOf, type Way } from '../model/pipeline.js'
import { isWholeKey } from '../model/quarantine.js'
import type { HeldBack, HeldRow, RepairKey, RunCost } from '../model/run.js'
import type { MetaSession } from '../ports/run-queue.js'
import type { Step, Transfer } from '../ports/transfer.js'
import { addCosts, sessionCost } from '../postgres/session-cost.js'
import { isSpread } from '../sources/postgres/describe.js'
import { Horizon } from '../sources/postgres/horizon.js'
import { type Attempt, fullPass } from './attempt.js'
import type { ChangeSource, NextPosition } from './changes/change-source.js'
import type { QueryTrace } from './changes/query-trace.js'
import type { Cutter } from './parts/cutter.js'
import {
  FullProgression,
  IncrementalProgression,
  initialProgression,
  NO_WATERMARK,
  type Progression,
} from './progression.js'
import type { Route } from './routes/route.js'
import { type ChangedParts, ChangedRows } from './steps/changed.js'
import { CheckStep } from './steps/check.js'
import { Follow } from './steps/follow.js'
import { Pass } from './steps/pass.js'
import { Publish } from './steps/publish.js'
import { Repair } from './steps/repair.js'
import { Replace } from './steps/replace.js'
import { Sweep } from './steps/sweep.js'

/**
 * An empty mart is filled by COPY from another database, and nothing waits for its rows. The target is idle while a COPY
 * begins and while a batch is committed in two databases: five times less often than with batches of 200 ms.
 */
const FILL_MS = 1_000

interface Cut {
  readonly way: Way
  readonly cutter: Cutter | null
}

/** The steps of an attempt. What differs between pushdown, relay and rows is in the route. */
export class RouteTransfer<Rows> implements Transfer {
  readonly plan: RunPlan
  readonly batchMs: number
  readonly #attempt: Attempt<unknown>
  readonly #route: Route<Rows>
  /** Null: the mart cannot be written in parts. */
  readonly #cutter: Cutter | null
  #incremental: IncrementalProgression | null = null

  constructor(attempt: Attempt<unknown>, route: Route<Rows>, { way, cutter }: Cut) {
    this.#cutter = cutter
    this.#attempt = attempt
    this.#route = route
    const { claim, examined, batches, isEmpty } = attempt
    this.batchMs = way === 'relay' && isEmpty ? FILL_MS : batches.targetMs
    this.plan = { strategy: strategyOf(claim.pipeline), way, guarantee: examined.guarantee }
  }

  replay(held: readonly HeldRow[]): Step {
    const { batches, ledger } = this.#attempt
    const found = held.filter((row) => isWholeKey(this.#keyOf(row)))
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      ledger.replayed(found.slice(first, first + count), meta)
    const keys = found.map((row) => this.#keyOf(row))
    const step = new Repair('replay', { batches, keys, settle, read: this.#route.repair(false) })
    let lost = held.filter((row) => !found.includes(row))
    return {
      name: step.name,
      next: async (limit) => {
        await this.#holdAgain(lost)
        lost = []
        return step.next(limit)
      },
    }
  }

  #keyOf({ texts, columns }: HeldRow): (string | null)[] {
    return this.#attempt.examined.key.map((column) => texts[columns.indexOf(column.name)] ?? null)
  }

  /** Rows that cannot be read again from the source. */
  async #holdAgain(rows: readonly HeldRow[]): Promise<void> {
    if (rows.length === 0) return
    const { ledger } = this.#attempt
    const reason =
      'The row cannot be replayed: its key is too long to be stored in full. Discard it, or change its key in the source.'
    await ledger.quarantine(
      rows.map(({ key, columns, texts }) => ({ key, columns, texts, reason, sqlstate: null })),
      null,
    )
    await ledger.replayed(rows, null)
  }

  repair(rows: readonly RepairKey[]): Step {
    const { batches, ledger } = this.#attempt
    const keys = rows.map(({ key }) => key)
    const settle = (first: number, count: number, meta: MetaSession | null) =>
      ledger.repaired(rows.slice(first, first + count), meta)
    return new Repair('repair', { batches, keys, settle, read: this.#route.repair(true) })
  }

  fullPass(): Step {
    return this.#unlessDone(this.#cutPass('full', new FullProgression(fullPass(this.#attempt, 'full'))))
  }

  recompute(): Step {
    // The sweep computes every row as well.
    if (this.#sweepsEverything) return { name: 'recompute', next: async () => null }
    return this.#pass('recompute', this.#fromTheStart())
  }

  incrementalPass(): Step {
    const { changes, examined } = this.#attempt
    if (changes === null || examined.trace === null) return this.#keyPass()
    if (this.#sweepsEverything) return { name: 'changed', next: async () => null }
    return this.#changedRows(this.#following(changes, examined.trace))
  }

  /** The sweep at the end of the run computes every row: to follow changes as well would be done twice. */
  get #sweepsEverything(): boolean {
    const { pipeline } = this.#attempt.claim
    const isSwept = pipeline.deletes === 'sweep' && pipeline.capture !== 'wal'
    return isSwept && isSpread(this.#attempt.examined.facts) && this.#route.rebuildsAtOnce
  }

  follow(): Step | null {
    const { changes, examined } = this.#attempt
    const wait = changes?.waitForChanges ?? null
    if (changes === null || wait === null || examined.trace === null) return null
    const following = this.#following(changes, examined.trace)
    return new Follow(wait, (live) => new ChangedRows(this.#attempt, this.#route, { ...following, live }))
  }

  #following(changes: ChangeSource, { trace, fingerprint }: QueryTrace): ChangedParts {
    return {
      changes,
      trace,
      query: fingerprint,
      isExact: this.#attempt.claim.pipeline.capture === 'wal',
      everyRow: (next) => this.#everyRow(next, true),
    }
  }

  #keyPass(): Step {
    const { examined, source: session, clock, claim, batches } = this.#attempt
    const { order, facts } = examined
    const horizon = new Horizon({
      session,
      key: order.columns[0]!,
      relations: facts.relations,
      self: sessionName(claim),
      clock,
    })
    this.#incremental = new IncrementalProgression(order, horizon, batches.state)
    return this.#pass('incremental', this.#incremental)
  }

  #changedRows(following: ChangedParts): Step {
    const { changes } = following
    if (!changes.isFirst) return this.#unlessDone(new ChangedRows(this.#attempt, this.#route, following))
    const removes = this.#attempt.claim.pipeline.capture === 'wal'
    return later('changed', async () => this.#everyRow(await changes.first(), removes))
  }

  /**
   * Rows that the source no longer has are removed first: the position is stored with the first batch of the pass, and
   * whatever is deleted meanwhile is found after it. An attempt that begins the pass has another position than the one
   * before it, so it removes again: otherwise rows that were deleted between the two would stay.
   */
  #everyRow(next: NextPosition, removes: boolean): Step {
    const progression = initialProgression(fullPass(this.#attempt, 'initial'), next)
    const pass = this.#cutPass('initial', progression)
    const { batches, isEmpty } = this.#attempt
    const isUnfinished = batches.state.position.pass?.name === 'initial'
    if (isEmpty || !removes || isUnfinished) return pass
    const removal = new Sweep(this.#attempt, this.#route)
    return { name: 'changed', next: async (limit) => (await removal.next()) ?? pass.next(limit) }
  }

  replace(): Step {
    const whole = new Replace({ name: 'replace' }, this.#attempt, this.#route)
    return this.#unlessDone(later('replace', async () => (await this.#cutter?.replace()) ?? whole))
  }

  /** A mart row made of several source rows does not show that one of them was deleted: everything is recomputed. */
  sweep(): Step {
    const { examined, batches } = this.#attempt
    const removal = new Sweep(this.#attempt, this.#route)
    if (!isSpread(examined.facts) || batches.isDone('sweep')) return this.#unlessDone(removal)
    const { changes } = this.#attempt
    const start = changes === null ? {} : { start: () => changes.first() }
    if (this.#route.rebuildsAtOnce)
      return new Replace({ name: 'sweep', ...start }, this.#attempt, this.#route)
    const pass = new Pass('recompute', this.#attempt, this.#route.pass('recompute', this.#fromTheStart()))
    return { name: 'sweep', next: async (limit) => (await pass.next(limit)) ?? removal.next() }
  }

  publish(): Step | null {
    const { publish } = this.#route
    return publish === null ? null : new Publish(this.#attempt.batches, publish)
  }

  check(): Step | null {
    const { rows, mart } = this.#attempt.checks
    return rows.length + mart.length === 0 ? null : new CheckStep(this.#attempt)
  }

  get heldBack(): HeldBack | null {
    return this.#incremental?.heldBack ?? this.#attempt.changes?.heldBack ?? null
  }

  async cost(): Promise<RunCost | null> {
    const { source, session } = this.#attempt
    const sessions = [...new Set([source, session])]
    return addCosts(await Promise.all(sessions.map(sessionCost)))
  }

  close(): Promise<void> {
    return this.#attempt.resources.close()
  }

  #pass(name: string, progression: Progression): Step {
    return this.#unlessDone(new Pass(name, this.#attempt, this.#route.pass(name, progression)))
  }

  /** A pass over every row: in parts, or in one stream. */
  #cutPass(name: string, progression: Progression): Step {
    return later(name, async () => {
      const inParts = await this.#cutter?.pass(name, progression)
      return inParts ?? new Pass(name, this.#attempt, this.#route.pass(name, progression))
    })
  }

  /** An attempt that continues a run after its last batch would otherwise read everything again. */
  #unlessDone(step: Step): Step {
    return this.#attempt.batches.isDone(step.name) ? { name: step.name, next: async () => null } : step
  }

  /** Every row from the beginning, and the checkpoint stays where it is. */
  #fromTheStart(): Progression {
    const { batches } = this.#attempt
    return {
      after: null,
      unfinished: false,
      beforeRead: async () => NO_WATERMARK,
      moved: async () => batches.state,
    }
  }
}

/** A step that is not known before it begins. */
function later(name: string, open: () => Promise<Step>): Step {
  let step: Step | null = null
  return {
    name,
    next: async (limit) => {
      step ??= await open()
      return step.next(limit)
    },
  }
}
