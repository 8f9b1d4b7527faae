import { setTimeout as delay } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { Session } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'
import { readStructure, type Structure } from './fingerprint.js'
import { HEAD_COLUMNS, type Head, readHead } from './head.js'
import { headById, type Position } from './heads.js'
import type { Change, Operation } from './images.js'
import { formatLsn, type Lsn, NO_LSN, parseLsn } from './lsn.js'
import { relationName } from './relation-name.js'
import { MOVED_CHANNEL, type Signals, WANTED_CHANNEL } from './signals.js'
import { coversStart, type Gate, gate, parseSnapshot, type Snapshot } from './snapshot.js'

export interface Entry extends Change {
  readonly endLsn: Lsn
  readonly xid: bigint
}

/** What a run needs to know about changes since its last position, all of one moment of the source. */
export interface Changes {
  readonly generation: string
  /** Write it with the rows, in one transaction. Entries after it come again. */
  readonly position: Lsn
  readonly fingerprint: string
  readonly snapshot: Snapshot
  /**
   * `wait`: the snapshot may miss rows that no entry reports. End the transaction and open the changes again, later.
   * Nothing else in this answer may be used then.
   */
  readonly startCheck: 'ok' | 'wait'
  /** Why the entries are not enough, and the full query has to be compared with the mart; null: they are. */
  readonly full: string | null
  /** Tables whose changes are not in the log, because they are not published. */
  readonly unpublished: readonly string[]
  /** Changes of the tables since the last position, in commit order; those behind `position` included. */
  readonly entries: readonly Entry[]
  /** How many entries lie behind `position`. */
  readonly held: number
}

export interface OpenChanges {
  /** In a transaction with REPEATABLE READ, READ ONLY, best before its first statement. */
  readonly source: Session
  /** Every table that the query reads. */
  readonly tables: readonly TableName[]
  /** Null: the first run. */
  readonly last: Position | null
}

export interface ReaderOptions {
  /** The id of the head. */
  readonly head: number
  readonly main: Session
  /** For a session of our own, which writes barriers. */
  readonly sourceUrl: string
  readonly signals: Signals
  readonly signal: AbortSignal
  /** How long the log may take to come up to the snapshot. Default 30 s. */
  readonly timeoutMs?: number
  /** Above this, entries are not read: the full query is cheaper. Default 100,000. */
  readonly mostEntries?: number
}

const TIMEOUT_MS = 30_000
const MOST_ENTRIES = 100_000
const FIRST_LOOK_MS = 5
const SLOWEST_LOOK_MS = 100
/** Looks before a barrier is written: mostly the log is there at the first. */
const PATIENT_LOOKS = 2

/** The consumer's side of a change log: one for each run, or one for a pipeline that runs continuously. */
export class ChangeReader {
  readonly #options: ReaderOptions
  #barrier: Session | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /**
   * The order is what makes it exact: snapshot, then the log up to a position read inside that snapshot, then the
   * entries. With the entries first, a change between them and the snapshot would be lost.
   */
  async open({ source, tables, last }: OpenChanges): Promise<Changes> {
    const before = await headById(this.#options.main, this.#options.head)
    // One statement: the snapshot is taken before the function runs, so what it sees was written below this position.
    const [now] = await source.rows(
      'SELECT pg_current_snapshot()::text AS snapshot, pg_current_wal_insert_lsn()::text AS lsn',
    )
    const snapshot = parseSnapshot(now!.snapshot!)
    const structure = await readStructure(source, before.publication, tables)
    await this.#waitFor(parseLsn(now!.lsn!), source)
    const { head, ...read } = await this.#read({ last, tables, snapshot: now!.snapshot! })
    const full = reasonForFull({ head, last, structure, tables, read })
    const members = tables.flatMap((table) => structure.members.get(relationName(table)) ?? [])
    const { position, held } = read.gate(snapshot)
    return {
      generation: head.generation,
      position,
      held,
      snapshot,
      fingerprint: structure.fingerprint,
      full,
      unpublished: unpublishedOf(tables, structure),
      startCheck: full === null || isCovered({ before, head, snapshot, last, members }) ? 'ok' : 'wait',
      entries: read.entries,
    }
  }

  async close(): Promise<void> {
    await this.#barrier?.close()
  }

  /** Until every commit that ends at or before `lsn` is in the log. */
  async #waitFor(lsn: Lsn, source: Session): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options
    const deadline = performance.now() + timeoutMs
    let pause = FIRST_LOOK_MS
    for (let looks = 1; ; looks++) {
      // Before the position is read: a move between that and the wait must not be missed.
      const moved = this.#nextMove(lsn)
      try {
        const head = await this.#head()
        if (head.startSnapshot !== null && head.upto >= lsn) return
        if (performance.now() > deadline) throw behind(head, timeoutMs)
        await this.#ask(lsn)
        if (looks > PATIENT_LOOKS) await this.#flush(lsn, source)
        await moved.within(pause)
      } finally {
        moved.forget()
      }
      pause = Math.min(pause * 2, SLOWEST_LOOK_MS)
    }
  }

  async #head(): Promise<Head> {
    return headById(this.#options.main, this.#options.head)
  }

  /** Notifies the captor that a consumer waits: a quiet source reports its position only on request. */
  async #ask(lsn: Lsn): Promise<void> {
    const { main, head } = this.#options
    await main.rows('SELECT pg_notify($1, $2)', [WANTED_CHANNEL, `${head} ${formatLsn(lsn)}`])
  }

  /**
   * Only flushed WAL is decoded. Asynchronous commits are visible before, and the page of an open transaction may stay
   * unflushed for 15 s. A commit of our own flushes it; `local`, because with a dead synchronous standby it would hang.
   */
  async #flush(lsn: Lsn, source: Session): Promise<void> {
    const { sourceUrl, signal } = this.#options
    const [row] = await source.rows('SELECT pg_current_wal_flush_lsn()::text AS flushed')
    if (parseLsn(row!.flushed!) >= lsn) return
    this.#barrier ??= await openBarrier(sourceUrl, signal)
    await this.#barrier.rows("SELECT pg_logical_emit_message(true, 'vitrina', '')")
  }

  /** Notes from now on whether the log has moved there. */
  #nextMove(lsn: Lsn): { within(timeoutMs: number): Promise<void>; forget(): void } {
    const { signals, signal, head } = this.#options
    const moved = new AbortController()
    const forget = signals.on(MOVED_CHANNEL, (move) => {
      if (move.head === head && move.lsn >= lsn) moved.abort()
    })
    const within = async (timeoutMs: number) => {
      await delay(timeoutMs, undefined, { signal: AbortSignal.any([signal, moved.signal]) }).catch(() => {})
      signal.throwIfAborted()
    }
    return { within, forget }
  }

  /** Head and entries of one moment: a new generation in between would leave the old head with an empty log. */
  async #read({
    last,
    tables,
    snapshot,
  }: Pick<OpenChanges, 'last' | 'tables'> & { snapshot: string }): Promise<Read> {
    const { main, mostEntries = MOST_ENTRIES } = this.#options
    await main.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    try {
      const [row] = await main.rows(`SELECT ${HEAD_COLUMNS} FROM etl.etl_change_heads WHERE id = $1`, [
        this.#options.head,
      ])
      const head = readHead(row!)
      const after = last !== null && last.generation === head.generation ? last.endLsn : NO_LSN
      const range = [head.id, formatLsn(after), formatLsn(head.upto), tables.map(relationName)]
      const rows = await main.rows(
        `SELECT end_lsn::text, xid::text, relation, op::text, old::text, new::text FROM etl.etl_changes
          WHERE head = $1 AND end_lsn > $2 AND end_lsn <= $3 AND relation = ANY ($4::text[]) ORDER BY end_lsn, seq LIMIT ${mostEntries + 1}`,
        range,
      )
      if (rows.length > mostEntries) return tooMany(head, await hiddenEntry(main, range, snapshot))
      const entries = rows.map(readEntry)
      return { head, entries, isTooLarge: false, gate: (seen) => gate(entries, seen, head.upto) }
    } finally {
      await main.run('ROLLBACK').catch(() => {})
    }
  }
}

interface Read {
  readonly head: Head
  readonly entries: readonly Entry[]
  readonly isTooLarge: boolean
  readonly gate: (snapshot: Snapshot) => Gate
}

/** The same gate inside the database, for more entries than are worth reading. */
async function hiddenEntry(main: Session, range: unknown[], snapshot: string): Promise<Lsn | null> {
  const [row] = await main.rows(
    `SELECT min(end_lsn)::text AS lsn FROM etl.etl_changes
      WHERE head = $1 AND end_lsn > $2 AND end_lsn <= $3 AND relation = ANY ($4::text[]) AND NOT pg_visible_in_snapshot(xid, $5::pg_snapshot)`,
    [...range, snapshot],
  )
  return row?.lsn == null ? null : parseLsn(row.lsn)
}

function tooMany(head: Head, hidden: Lsn | null): Read {
  const position = hidden === null ? head.upto : hidden - 1n
  return { head, entries: [], isTooLarge: true, gate: () => ({ position, held: hidden === null ? 0 : 1 }) }
}

function readEntry(row: Record<string, string | null>): Entry {
  return {
    endLsn: parseLsn(row.end_lsn!),
    xid: BigInt(row.xid!),
    relation: row.relation!,
    op: row.op as Operation,
    old: JSON.parse(row.old ?? 'null') as Change['old'],
    new: JSON.parse(row.new ?? 'null') as Change['new'],
  }
}

interface Judged extends Pick<OpenChanges, 'last' | 'tables'> {
  readonly head: Head
  readonly structure: Structure
  readonly read: Pick<Read, 'entries' | 'isTooLarge'>
}

function reasonForFull({ head, last, structure, tables, read }: Judged): string | null {
  const unpublished = unpublishedOf(tables, structure)
  if (head.startSnapshot === null) return 'the change log is being rebuilt'
  if (unpublished.length > 0) return `not published: ${unpublished.join(', ')}`
  if (last === null) return 'first run'
  if (last.generation !== head.generation) return 'the slot was lost, or is new'
  if (last.endLsn < head.trimmed) return 'the change log was trimmed beyond the last position'
  if (last.fingerprint !== structure.fingerprint) return 'the structure of a table changed'
  if (read.isTooLarge) return 'too many changes'
  const whole = read.entries.find(({ op }) => op === 'T')
  return whole === undefined ? null : `${whole.relation} was truncated, or changed in too many rows`
}

function unpublishedOf(tables: readonly TableName[], { members }: Structure): string[] {
  return tables.map(relationName).filter((name) => !members.has(name))
}

interface FirstRead extends Pick<OpenChanges, 'last'> {
  /** As it was before the snapshot was taken. */
  readonly before: Head
  readonly head: Head
  readonly snapshot: Snapshot
  /** Rows of the publication: one for each table of the query. */
  readonly members: readonly string[]
}

/** Whether the full query in this snapshot, together with the entries after the position, misses nothing. */
function isCovered({ before, head, last, snapshot, members }: FirstRead): boolean {
  if (head.startSnapshot === null || !coversStart(snapshot, parseSnapshot(head.startSnapshot))) return false
  // Entries that were removed since the snapshot was taken may be invisible in it, unless our position protects them.
  const isProtected = last?.generation === head.generation && last.endLsn >= head.trimmed
  const trimmedBefore = before.generation === head.generation ? before.trimmed : NO_LSN
  if (!isProtected && head.trimmed !== trimmedBefore) return false
  // A transaction that changed a table before it was published is never reported: it must be visible.
  return members.every((member) => {
    const from = head.published[member]
    return from !== undefined && snapshot.xmin >= BigInt(from)
  })
}

async function openBarrier(url: string, signal: AbortSignal): Promise<Session> {
  const session = await Session.open(url, 'vitrina-barrier', signal)
  await session.run('SET synchronous_commit = local')
  return session
}

function behind(head: Head, timeoutMs: number): VitrinaError {
  const cause =
    head.error ?? (head.owner === null ? 'No runner captures its changes.' : `${head.owner} captures it.`)
  return new VitrinaError(
    'CAPTURE_BEHIND',
    `The change log of ${head.connection} did not reach the moment of this run within ${timeoutMs / 1000} s. ${cause}`,
    'See the error and the lag in etl.etl_change_heads, and the log of the runner that captures.',
  )
}
