import { passFingerprint } from '../../checkpoints/checkpoint.js'
import { LEDGER_STATEMENTS, PartLedger } from '../../checkpoints/part-ledger.js'
import { CheckFailure } from '../../checks/index.js'
import { addResults, type CheckResult } from '../../model/check.js'
import { type Phase, partSessionName } from '../../model/claim.js'
import { VitrinaError } from '../../model/errors.js'
import { failpoint } from '../../model/failpoints.js'
import type { PartClaim, PartRecord } from '../../model/part.js'
import { finalTarget } from '../../model/pipeline.js'
import { type RunCost, sumRows } from '../../model/run.js'
import type { MetaSession } from '../../ports/run-queue.js'
import type { PartBatchId } from '../../ports/sink.js'
import type { PartNotes, PartTransfer } from '../../ports/transfer.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { addCosts, sessionCost } from '../../postgres/session-cost.js'
import type { OpenedSink } from '../../sinks/open.js'
import type { WantedTable } from '../../sinks/postgres/target.js'
import { isMainDatabase } from '../attempt.js'
import { type MartChange, NO_CHANGE } from '../marts/mart.js'
import { findTable } from '../marts/table.js'
import { batchError, durationsOf, metaSession, phasesOf, type Timing } from '../run-batches.js'
import { type FindMart, openSides, type SideOptions, type Sides } from '../sides.js'
import { openPartStream, openSinkStream, type PartStream } from './part-stream.js'

/** Rows in memory at a time, if they pass through this process or through an engine. */
export const PORTION_ROWS = 20_000

export interface PartOptions extends Omit<SideOptions, 'claim' | 'ledger' | 'name'> {
  readonly claim: PartClaim
  readonly notes: PartNotes
  readonly isMain: boolean
}

export interface TablePartOptions extends PartOptions {
  readonly way: 'pushdown' | 'relay' | 'rows'
  readonly wanted: (columns: WantedTable['columns']) => WantedTable
}

export interface SinkPartOptions extends PartOptions {
  readonly openSink: (columns: WantedTable['columns']) => Promise<OpenedSink>
}

interface Opened {
  readonly claim: PartClaim
  readonly notes: PartNotes
  readonly sides: Pick<Sides<unknown>, 'source' | 'session'>
  readonly ledger: PartLedger
  readonly isMain: boolean
  /** The rows are committed together with the line in the ledger. Otherwise they are written before it. */
  readonly isTransactional: boolean
  readonly resources: PartOptions['resources']
}

/** One part of a run: a range of keys, read in the snapshot of the run, and one line in the ledger. */
export class RunPart implements PartTransfer {
  readonly #opened: Opened
  readonly #begin: () => Promise<PartStream>

  private constructor(opened: Opened, begin: () => Promise<PartStream>) {
    this.#opened = opened
    this.#begin = begin
  }

  /** The caller closes `resources`, also if this fails. */
  static async openTable({ way, wanted, ...options }: TablePartOptions): Promise<RunPart> {
    const { claim, resources } = options
    const { sides, opened } = await openPart(options, (session, columns) =>
      findTable(session, wanted(columns)),
    )
    const { mart: table } = await sides.found.create()
    return new RunPart(opened, () => openPartStream({ claim, sides, table, way, resources }))
  }

  /** The same for a mart behind a sink, which the holder of the run has prepared. */
  static async openSink({ openSink, ...options }: SinkPartOptions): Promise<RunPart> {
    const { claim, resources } = options
    const { sides, opened } = await openPart(options, async (_session, columns) => {
      const mart = await openSink(columns)
      resources.add(mart.sink)
      return { key: mart.key, create: async () => ({ mart, identity: null, isNew: false }) }
    })
    const { mart } = await sides.found.create()
    return new RunPart(opened, () => openSinkStream({ claim, sides, mart, resources }))
  }

  async run(): Promise<PartRecord> {
    const { claim, ledger, notes } = this.#opened
    const part = { part: claim.part, attempt: claim.partAttempt }
    const earlier = await onSide('target', 'Reading the list of parts', () => ledger.take(part))
    if (earlier === null) {
      const record = await this.#execute()
      await this.#endSnapshot()
      return record
    }
    // Committed by a runner that died before it could report it.
    const now = performance.now()
    const phases = { readMs: null, transformMs: null, writeMs: 0, checkpointMs: 0 }
    const record = {
      rows: earlier,
      marks: [],
      durationMs: 0,
      phases,
      spans: [{ name: 'checkpoint', from: now, to: now }] as const,
    }
    await notes.done(record, null)
    return record
  }

  async cost(): Promise<RunCost | null> {
    const { source, session } = this.#opened.sides
    return addCosts(await Promise.all([...new Set([source, session])].map(sessionCost)))
  }

  close(): Promise<void> {
    return this.#opened.resources.close()
  }

  async #execute(): Promise<PartRecord> {
    const { isTransactional, sides } = this.#opened
    const { session } = sides
    const started = performance.now()
    const stream = await this.#begin()
    failpoint('part.read')
    // No transaction stays open in the main database while another server works.
    const sent = isTransactional ? null : await this.#send(stream)
    await session.run('BEGIN; SET CONSTRAINTS ALL IMMEDIATE')
    try {
      const { change, earlier } = sent ?? (await this.#write(stream))
      return await this.#commit(change, { started, written: performance.now(), earlier })
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      if (error instanceof CheckFailure) await this.#record(error.results, null)
      throw batchError(error)
    }
  }

  async #send(stream: PartStream): Promise<WrittenPart> {
    return this.#write(stream).catch(async (error: unknown) => {
      if (error instanceof CheckFailure) await this.#record(error.results, null)
      throw error
    })
  }

  async #write(stream: PartStream): Promise<WrittenPart> {
    const { claim, isTransactional } = this.#opened
    const { pipeline, runId, fence, part, partAttempt, plan } = claim
    const common = { pipelineId: pipeline.id, runId, fence, number: plan.batchBefore }
    const phases: Phase[] = []
    let count = 0
    let change = NO_CHANGE
    for (
      let portion = await stream.next(PORTION_ROWS);
      portion !== null;
      portion = await stream.next(PORTION_ROWS)
    ) {
      count += 1
      const id: PartBatchId = { ...common, part, claim: partAttempt, portion: count }
      const written = await portion.write(id)
      if (!isTransactional) failpoint('part.sent')
      phases.push(...portion.phases, ...(written.read === undefined ? [] : [written.read]))
      change = {
        rows: sumRows(change.rows, written.rows),
        refused: [...change.refused, ...written.refused],
        marks: [...change.marks, ...written.marks],
        checks: addResults(change.checks ?? [], written.checks ?? []),
      }
    }
    const read = joined(phases, 'read')
    return {
      change: read === null ? change : { ...change, read },
      earlier: [joined(phases, 'transform')].filter((phase) => phase !== null),
    }
  }

  /** A connection with an open transaction cannot be kept: the next part would need a new one. */
  async #endSnapshot(): Promise<void> {
    const { source, session } = this.#opened.sides
    // The part is committed, whatever becomes of the connection.
    if (source !== session) await source.run('ROLLBACK').catch(() => {})
  }

  #record(results: readonly CheckResult[], session: MetaSession | null): Promise<void> {
    const { notes, claim } = this.#opened
    return notes.checked(results, { batch: claim.part, isPart: true, session })
  }

  /** Rows, ledger and history in one transaction; if the mart is in another database, history follows. */
  async #commit(change: MartChange, timing: Timing): Promise<PartRecord> {
    const { claim, ledger, notes, isMain, sides } = this.#opened
    const { session } = sides
    const meta = isMain ? metaSession(session) : null
    const part = { part: claim.part, attempt: claim.partAttempt }
    await onSide(isMain ? 'meta store' : 'target', 'Recording the part', () =>
      ledger.complete(part, change.rows),
    )
    const spans = phasesOf(change, timing)
    const durationMs = performance.now() - timing.started
    const { rows, marks, checks = [] } = change
    const record = { rows, marks, durationMs, phases: durationsOf(spans), spans }
    await onSide('meta store', 'Recording the part', async () => {
      if (change.refused.length > 0) await notes.quarantine(change.refused, meta)
      if (checks.length > 0) await this.#record(checks, meta)
      await (isMain ? notes.done(record, meta) : notes.require())
    })
    failpoint('part.written')
    await session.run('COMMIT')
    failpoint('part.committed')
    if (!isMain) await notes.done(record, null)
    return record
  }
}

async function openPart<M>(
  options: PartOptions,
  findMart: FindMart<M>,
): Promise<{ sides: Sides<M>; opened: Opened }> {
  const { claim, notes, isTransactional, resources } = options
  const name = partSessionName(claim, claim.part, claim.partAttempt)
  const sides = await openSides({ ...options, ledger: notes, name }, findMart)
  const { session, source, examined } = sides
  await endEarlierClaims([source, session], claim)
  const key = examined.key.map((column) => column.name)
  if (passFingerprint(claim.pipeline, examined.query, key) !== claim.plan.fingerprint) throw otherPlan(claim)
  const isMain = options.isMain || (await isMainDatabase(session, claim))
  const { runId, fence, pipeline } = claim
  const ledger = new PartLedger(session, { pipelineId: pipeline.id, runId, fence, isMain })
  return { sides, opened: { claim, notes, sides, ledger, isMain, isTransactional, resources } }
}

/** The time that the portions of a part spent on this together. */
function joined(phases: readonly Phase[], name: Phase['name']): Phase | null {
  const own = phases.filter((phase) => phase.name === name)
  const [first] = own
  if (first === undefined) return null
  return { name, from: first.from, to: first.from + own.reduce((sum, { from, to }) => sum + to - from, 0) }
}

interface WrittenPart {
  readonly change: MartChange
  readonly earlier: Phase[]
}

/** Ends the sessions of a runner that froze in this part. */
async function endEarlierClaims(sessions: readonly Session[], claim: PartClaim): Promise<void> {
  const { part, partAttempt } = claim
  const prefix = partSessionName(claim, part, partAttempt).slice(0, -String(partAttempt).length)
  for (const session of new Set(sessions))
    await session.rows(LEDGER_STATEMENTS.end_earlier.text, [prefix, String(partAttempt)])
}

function otherPlan({ pipeline, part }: PartClaim): VitrinaError {
  return new VitrinaError(
    'SOURCE_CHANGED',
    `Part ${part} of ${finalTarget(pipeline)} was planned for another query, key or target than this runner sees.`,
    'Check that all runners have the same connections and task files, then run the pipeline again.',
  )
}
