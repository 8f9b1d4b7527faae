import { setTimeout as delay } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { readTableName } from '../model/table-name.js'
import { Session } from '../postgres/session.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import type { CaptorOptions } from './captor-options.js'
import type { ChangeLog, LogBatch, NewEntry } from './change-log.js'
import type { ChangeStream, Received } from './change-stream.js'
import { fullXid } from './full-xid.js'
import type { Head } from './head.js'
import { HistoryChanged, HistoryCheck } from './history-check.js'
import type { Needs } from './images.js'
import { type Lsn, laterLsn, NO_LSN } from './lsn.js'
import { PeekStream } from './peek-stream.js'
import { MEMBERS, planPublication } from './publication.js'
import { type Signals, WANTED_CHANNEL } from './signals.js'
import {
  createSlot,
  createSlotBySql,
  dropSlot,
  endUser,
  lossOf,
  openTransactions,
  SlotMoved,
  type SlotState,
  slotState,
} from './slot.js'
import { WalStream } from './wal-stream.js'

const TICK_MS = 1_000
/** Ticks between two writes of what was seen, and two trims. */
const HOUSEKEEPING = 5
const ACTIVE_RETRY_MS = 100
const ACTIVE_TIMEOUT_MS = 15_000
const BLOCKED_MS = 3_000
/**
 * PostgreSQL 18.4 once kept failing with it, for at least 30 s, in a stress test that rewrites tables. Only another slot
 * begins behind what cannot be decoded. Internal errors are not translated.
 */
const UNDECODABLE = /could not map filenumber/

/** The slot cannot continue the log; the message says why. */
class SlotLost extends Error {}

/** Everything a captor does while it holds the lease. */
export class CaptureWork {
  readonly #options: CaptorOptions
  readonly #log: ChangeLog
  readonly #signal: AbortSignal
  #needs: Needs = new Map()
  #published: Readonly<Record<string, string>> = {}
  #wanted: Lsn = NO_LSN
  /** The same by consumers of this process, who need not find it in the log. */
  #wantedHere: Lsn = NO_LSN
  #xmax = 0n
  #xmin = 0n
  #ticks = 0
  #way: 'stream' | 'peek'

  constructor(options: CaptorOptions, log: ChangeLog, signal: AbortSignal) {
    this.#options = options
    this.#log = log
    this.#signal = signal
    this.#way = options.way ?? 'stream'
  }

  /** Returns when no pipeline is registered any more. */
  async run(head: Head): Promise<void> {
    const source = await Session.open(this.#options.sourceUrl, 'vitrina-captor', this.#signal)
    try {
      if (!(await this.#loadNeeds())) return await this.#retire(source, head)
      await this.#requirePrepared(source, head)
      await this.#captureUntilStopped(source, head)
    } finally {
      await source.close()
    }
  }

  async #captureUntilStopped(source: Session, claimed: Head): Promise<void> {
    let head = claimed
    for (;;) {
      const loss = lossOf(await slotState(source, head.slot), logged(head))
      if (loss !== null) head = await this.#startOver(source, head, loss)
      try {
        return await this.#captureGeneration(source, head)
      } catch (error) {
        const reason = reasonOf(error)
        if (reason === null || this.#signal.aborted) throw error
        // A slot without its publication would be lost again with the next change.
        await this.#requirePrepared(source, head)
        head = await this.#startOver(source, head, reason)
      }
    }
  }

  async #captureGeneration(source: Session, head: Head): Promise<void> {
    const { events, owner } = this.#options
    const stream = await this.#openStream(source, head)
    const off = this.#options.signals.on(WANTED_CHANNEL, (signal) => {
      if (signal.head !== head.id) return
      this.#wanted = laterLsn(signal.lsn, this.#wanted)
      stream.wake()
    })
    const here = this.#options.signals.captures(head.id, (lsn) => {
      this.#wantedHere = laterLsn(lsn, this.#wantedHere)
      stream.wake()
    })
    try {
      // Again, now that no other session can move the slot.
      const slot = await slotState(source, head.slot)
      const loss = lossOf(slot, logged(head))
      if (loss !== null) throw new SlotLost(loss)
      events.claimed(head.connection, { slot: head.slot, way: stream.way, runner: owner })
      this.#published = head.published
      const isOver = await this.#receiveUntilStopped({ source, head, stream, slot, here })
      if (isOver) await this.#retire(source, head, stream)
    } finally {
      off()
      here.end()
      await stream.close()
    }
  }

  /** Returns true when no pipeline needs it any more. */
  async #receiveUntilStopped({ source, head, stream, slot, here }: Capture): Promise<true> {
    const history = new HistoryCheck({ upto: head.upto, last: head.last }, slot.confirmed!)
    let upto = head.upto
    let reached = head.upto
    let tickAt = Number.NEGATIVE_INFINITY
    for (;;) {
      this.#signal.throwIfAborted()
      const isTick = performance.now() >= tickAt
      if (isTick) {
        if (!(await this.#tick({ source, head, stream, upto }))) return true
        tickAt = performance.now() + TICK_MS
      }
      const received = await stream.receive({
        wanted: () =>
          laterLsn(
            this.#wanted > upto ? this.#wanted : NO_LSN,
            this.#wantedHere > reached ? this.#wantedHere : NO_LSN,
          ),
        timeoutMs: Math.max(0, tickAt - performance.now()),
      })
      const { entries, last } = this.#entriesOf(received, history)
      history.reach(received.reached)
      const isAwaited = this.#wanted > upto && received.reached >= this.#wanted
      reached = laterLsn(received.reached, reached)
      const isWritten = received.reached > upto && (entries.length > 0 || isAwaited || isTick)
      if (isWritten) {
        await this.#write(stream, { entries, last, upto: received.reached })
        upto = received.reached
      }
      here.reached({ generation: head.generation, logged: upto, reached })
    }
  }

  async #write(stream: ChangeStream, batch: LogBatch): Promise<void> {
    if (batch.last !== null) failpoint('capture.decoded')
    await this.#log.write(batch)
    if (batch.last !== null) failpoint('capture.logged')
    // Only now: what the source forgets before the log has it is lost.
    await stream.acknowledge(batch.upto)
  }

  #entriesOf({ transactions }: Received, history: HistoryCheck): Pick<LogBatch, 'entries' | 'last'> {
    const entries: NewEntry[] = []
    let last: LogBatch['last'] = null
    for (const transaction of transactions) {
      const xid = fullXid(transaction.xid, this.#xmax)
      if (!history.isNew(transaction, xid)) continue
      const { endLsn, stamp, changes } = transaction
      last = { endLsn, xid, stamp }
      for (const [seq, change] of changes.entries()) entries.push({ ...change, endLsn, seq, xid })
    }
    return { entries, last }
  }

  /** False: no pipeline is registered any more. */
  async #tick({
    source,
    head,
    stream,
    upto,
  }: Omit<Capture, 'slot' | 'here'> & { upto: Lsn }): Promise<boolean> {
    await this.#lookAtSource(source, head)
    if (!(await this.#loadNeeds())) return false
    if (this.#ticks++ % HOUSEKEEPING !== 0) return true
    const { heldBytes, lagBytes } = await slotState(source, head.slot)
    await this.#log.observe({ way: stream.way, heldBytes, lagBytes })
    const keep = this.#options.keepBytes
    if (heldBytes !== null && heldBytes > keep) {
      this.#options.events.gaveUp(head.connection, { held_bytes: heldBytes, limit_bytes: keep })
      throw new SlotLost(
        `The slot kept ${heldBytes} bytes of WAL on the source; VITRINA_WAL_KEEP_MB allows ${keep}.`,
      )
    }
    await this.#log.trim(upto > BigInt(keep) ? upto - BigInt(keep) : NO_LSN, this.#xmin)
    return true
  }

  /** Numbers of current transactions, and tables that have come into the publication. */
  async #lookAtSource(source: Session, head: Head): Promise<void> {
    const rows = await source.rows(
      `SELECT pg_snapshot_xmin(s)::text AS xmin, pg_snapshot_xmax(s)::text AS xmax, m.oid
         FROM pg_current_snapshot() s LEFT JOIN (${MEMBERS}) m ON true`,
      [head.publication],
    )
    this.#xmin = BigInt(rows[0]!.xmin!)
    this.#xmax = BigInt(rows[0]!.xmax!)
    const members = rows.flatMap(({ oid }) => (oid == null ? [] : [oid]))
    const known = Object.keys(this.#published)
    if (members.length === known.length && members.every((oid) => oid in this.#published)) return
    // A transaction that is open now may have changed the table before it was published: such changes are never sent.
    // A first read has to see every transaction with a number below this one.
    const published = Object.fromEntries(
      members.map((oid) => [oid, this.#published[oid] ?? String(this.#xmax)]),
    )
    await this.#log.publish(published)
    this.#published = published
  }

  async #loadNeeds(): Promise<boolean> {
    const needs = await this.#log.needs()
    if (needs !== null) this.#needs = needs
    return needs !== null
  }

  async #openStream(source: Session, { slot, publication }: Head): Promise<ChangeStream> {
    const { sourceUrl: url, limits } = this.#options
    const needs = () => this.#needs
    const options = { url, slot, publication, needs, ...(limits === undefined ? {} : { limits }) }
    return this.#whenSlotIsFree(source, slot, async () => {
      if (this.#way === 'peek') return await PeekStream.open(source, options)
      try {
        return await WalStream.open(options, this.#signal)
      } catch (error) {
        if (!this.#mayPeek(error)) throw error
        return await PeekStream.open(source, options)
      }
    })
  }

  /** A pooler that refuses a replication connection: from here on SQL does the same. */
  #mayPeek(error: unknown): boolean {
    if (this.#options.way !== undefined || sqlstateOf(error) !== PROTOCOL_VIOLATION) return false
    this.#way = 'peek'
    return true
  }

  /** The slot of a captor that was killed or frozen is in use until the server has noticed: its session is ended. */
  async #whenSlotIsFree<T>(source: Session, slot: string, work: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + ACTIVE_TIMEOUT_MS
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (sqlstateOf(error) !== OBJECT_IN_USE || performance.now() > deadline) throw error
      }
      await endUser(source, slot)
      await delay(ACTIVE_RETRY_MS, undefined, { signal: this.#signal })
    }
  }

  /** Drops what is left of the slot, and begins a new generation with a new one. */
  async #startOver(source: Session, head: Head, reason: string): Promise<Head> {
    await this.#log.abandon(head.startSnapshot === null ? null : reason)
    await this.#whenSlotIsFree(source, head.slot, () => dropSlot(source, head.slot))
    const made = await this.#createSlot(source, head)
    const state = await slotState(source, head.slot)
    const begun = await this.#log.begin(made, state)
    this.#wanted = NO_LSN
    this.#wantedHere = NO_LSN
    const { connection, generation, slot } = begun
    const facts = { slot, generation, reason }
    if (head.generation === '0') this.#options.events.slotCreated(connection, facts)
    else this.#options.events.generationStarted(connection, facts)
    return begun
  }

  async #createSlot(source: Session, head: Head) {
    const cancel = new AbortController()
    const signal = AbortSignal.any([this.#signal, cancel.signal])
    // A separate session: behind a pooler the creating one is busy.
    const watcher = await Session.open(this.#options.sourceUrl, 'vitrina-captor', this.#signal)
    const timer = setInterval(
      () => void this.#watchCreation(watcher, head, cancel).catch(() => {}),
      BLOCKED_MS,
    )
    try {
      if (this.#way === 'peek') return await createSlotBySql(source, head)
      return await createSlot({ session: source, url: this.#options.sourceUrl }, head, signal)
    } catch (error) {
      if (cancel.signal.aborted) throw cancel.signal.reason
      if (!this.#mayPeek(error)) throw error
      return await createSlotBySql(source, head)
    } finally {
      clearInterval(timer)
      await watcher.close()
    }
  }

  /** Reports what a new slot waits for, and stops waiting before the WAL that it keeps fills the disk. */
  async #watchCreation(watcher: Session, head: Head, cancel: AbortController): Promise<void> {
    const open = await openTransactions(watcher)
    const { heldBytes } = await slotState(watcher, head.slot)
    const error = new VitrinaError(
      'CAPTURE_WAITING',
      `The slot ${head.slot} can be created when every transaction that is open in the source's cluster has ended${open === null ? '' : `; the oldest: ${open}`}.`,
      'End the transaction, or wait for it.',
    )
    await this.#log.fail(error)
    if (heldBytes !== null && heldBytes > this.#options.keepBytes) cancel.abort(error)
  }

  /** The slot is dropped with the last pipeline. */
  async #retire(source: Session, head: Head, stream: ChangeStream | null = null): Promise<void> {
    await stream?.close()
    if (!head.hasSlot) return
    // First the log: a pipeline that registers at this moment finds none, and waits for the next generation.
    await this.#log.abandon(null)
    await this.#whenSlotIsFree(source, head.slot, () => dropSlot(source, head.slot))
    await this.#log.slotDropped()
    this.#options.events.retired(head.connection, head.slot)
  }

  async #requirePrepared(source: Session, head: Head): Promise<void> {
    const [server] = await source.rows(
      `SELECT pg_is_in_recovery() AS standby, current_setting('wal_level') AS level,
              EXISTS (SELECT FROM pg_publication WHERE pubname = $1) AS published`,
      [head.publication],
    )
    if (server!.standby === 't')
      throw unavailable(
        'The source is a standby server.',
        'Connect to the primary: a standby cannot be captured.',
      )
    if (server!.level !== 'logical')
      throw unavailable(
        `The source runs with wal_level = ${server!.level}.`,
        "Run ALTER SYSTEM SET wal_level = 'logical' on the source and restart it.",
      )
    if (server!.published === 't') return
    const tables = [...this.#needs.keys()].flatMap((name) => readTableName(name) ?? [])
    const { statements } = await planPublication(source, head.publication, tables)
    throw unavailable(
      `The publication ${head.publication} does not exist on the source.`,
      `The owner of the tables has to run: ${statements.join('; ')}`,
    )
  }
}

interface Capture {
  readonly source: Session
  readonly head: Head
  readonly stream: ChangeStream
  readonly slot: SlotState
  /** Reports its position to consumers of this process. */
  readonly here: ReturnType<Signals['captures']>
}

const PROTOCOL_VIOLATION = '08P01'
const OBJECT_IN_USE = '55006'
/** The slot was invalidated; the slot is gone, or its publication did not exist when a change was made. */
const UNUSABLE = new Set(['55000', '42704'])

function logged({ upto, system, timeline, startSnapshot }: Head) {
  return { upto, system, timeline, isStarted: startSnapshot !== null }
}

/** Why a new generation has to begin; null: the error says nothing about the slot. */
function reasonOf(error: unknown): string | null {
  if (error instanceof SlotLost) return error.message
  if (error instanceof SlotMoved) return 'The slot was moved or dropped by another session.'
  if (error instanceof HistoryChanged)
    return 'The source was restored to an earlier moment: it does not contain the newest commit of the log.'
  if (UNUSABLE.has(sqlstateOf(error) ?? ''))
    return `The source refused the slot: ${(error as Error).message}.`
  if (sqlstateOf(error) === 'XX000' && UNDECODABLE.test((error as Error).message))
    return `The source cannot decode the WAL that the slot has kept: ${(error as Error).message}.`
  return null
}

function unavailable(detail: string, hint: string): VitrinaError {
  return new VitrinaError('CAPTURE_UNAVAILABLE', detail, hint)
}
