import { setTimeout as delay } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { kept } from '../postgres/kept-statements.js'
import { Session } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'
import { readStructure, type Structure } from './fingerprint.js'
import { HEAD_COLUMNS, type Head, readHead } from './head.js'
import { changeLogRemoved, headById, type LogPosition } from './heads.js'
import type { LoggedChange, Operation } from './images.js'
import { formatLsn, type Lsn, NO_LSN, parseLsn } from './lsn.js'
import { relationName } from './relation-name.js'
import { MOVED_CHANNEL, type Signals, WANTED_CHANNEL } from './signals.js'
import { coversStart, type Gate, gate, parseSnapshot, type Snapshot } from './snapshot.js'

export interface Entry extends LoggedChange {
  readonly endLsn: Lsn
  readonly xid: bigint
}

/** What a run needs to know about changes since its last position, all of one moment of the source. */
export interface Changes {
  readonly generation: string
  /** Write it in the transaction of the rows. Entries after it are returned again. */
  readonly position: Lsn
  readonly fingerprint: string
  /**
   * `wait`: the snapshot may miss rows that no entry reports. End the transaction and open the changes again, later. No
   * other field of this result may be used then.
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
  readonly last: LogPosition | null
}

export interface ReaderOptions {
  /** The id of the head. */
  readonly head: number
  /** The head as it was before the first snapshot is taken; not given: it is read. */
  readonly known?: Head
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
/** This many entries are read without counting them first. */
const FEW_ENTRIES = 2_000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100
/** Attempts before a barrier is written: mostly the first one finds the log. */
const ATTEMPTS_BEFORE_BARRIER = 2

/** The consumer's side of a change log: one for each run, or one for a pipeline that runs continuously. */
export class ChangeReader {
  readonly #options: ReaderOptions
  /** As it was before the next snapshot is taken; null: it has to be read again. */
  #before: Head | null
  #barrier: Session | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#before = options.known ?? null
  }

  /**
   * The order is what makes it exact: snapshot, then the log up to a position read inside that snapshot, then the
   * entries. With the entries first, a change between them and the snapshot would be lost.
   */
  async open({ source, tables, last }: OpenChanges): Promise<Changes> {
    const before = this.#before ?? (await headById(this.#options.main, this.#options.head))
    const [{ snapshot, head, ...read }, structure] = await Promise.all([
      this.#readNow(source, { last, tables }),
      readStructure(source, before.publication, tables),
    ])
    const full = reasonForFull({ head, last, structure, tables, read })
    const members = tables.flatMap((table) => structure.members.get(relationName(table)) ?? [])
    const { position, held } = read.gate(snapshot)
    const isOk = full === null || isCovered({ before, head, snapshot, last, members })
    this.#before = isOk ? head : null
    return {
      generation: head.generation,
      position,
      held,
      fingerprint: structure.fingerprint,
      full,
      unpublished: unpublishedOf(tables, structure),
      startCheck: isOk ? 'ok' : 'wait',
      entries: read.entries,
    }
  }

  async close(): Promise<void> {
    await this.#barrier?.close()
  }

  async #readNow(
    source: Session,
    open: Pick<OpenChanges, 'last' | 'tables'>,
  ): Promise<Read & { readonly snapshot: Snapshot }> {
    const [now] = await source.rows(source.connection.server.number < FLUSHING_VERSION ? NOW : NOW_FLUSHED)
    const wanted = { ...open, lsn: parseLsn(now!.lsn!), snapshot: now!.snapshot! }
    return { ...(await this.#readUpTo(wanted, source)), snapshot: parseSnapshot(now!.snapshot!) }
  }

  /** As soon as every commit that ends at or before the wanted position is in the log. */
  async #readUpTo(wanted: Wanted, source: Session): Promise<Read> {
    const { timeoutMs = TIMEOUT_MS, signals, signal, head: id } = this.#options
    const here = await signals.reachedHere(id, wanted.lsn, signal)
    if (here !== null) {
      const { head, ...read } = await this.#read({ ...wanted, lsn: here.logged })
      if (head.generation === here.generation && isReached(head, here.logged)) return { head, ...read }
    }
    const deadline = performance.now() + timeoutMs
    let pause = FIRST_PAUSE_MS
    for (let attempt = 1; ; attempt++) {
      // Before the log is read: a move between that and the wait must not be missed.
      const moved = this.#nextMove(wanted.lsn)
      try {
        const { head, ...read } = await this.#read(wanted)
        if (isReached(head, wanted.lsn)) return { head, ...read }
        if (performance.now() > deadline) throw behind(head, timeoutMs)
        await this.#ask(wanted.lsn)
        if (attempt > ATTEMPTS_BEFORE_BARRIER) await this.#flush(wanted.lsn, source)
        await moved.within(pause)
      } finally {
        moved.forget()
      }
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
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

  /**
   * Head and entries in one statement: a new generation between two of them would leave the old head with an empty log.
   * Before the log is far enough there are no entries.
   */
  async #read({ lsn, last, tables, snapshot }: Wanted): Promise<Read> {
    const { main, mostEntries = MOST_ENTRIES } = this.#options
    const range = [
      this.#options.head,
      formatLsn(lsn),
      last?.generation ?? '-1',
      formatLsn(last?.endLsn ?? NO_LSN),
      tables.map(relationName),
    ]
    let limit = Math.min(FEW_ENTRIES, mostEntries)
    let rows = await main.rows(LOG, [...range, limit + 1])
    const hasMore = rows.length > limit && limit < mostEntries
    // Counting costs a fraction of reading rows that are then discarded.
    if (hasMore && (await this.#count(range, mostEntries + 1)) <= mostEntries) {
      limit = mostEntries
      rows = await main.rows(LOG, [...range, limit + 1])
    }
    if (rows.length === 0) throw changeLogRemoved()
    const head = readHead(JSON.parse(rows[0]!.head!))
    if (rows.length > limit) {
      const [hidden] = await main.rows(FIRST_HIDDEN, [...range, snapshot])
      return tooMany(head, hidden?.end_lsn == null ? null : parseLsn(hidden.end_lsn))
    }
    const entries = rows.filter(({ end_lsn }) => end_lsn !== null).map(readEntry)
    return { head, entries, isTooLarge: false, gate: (seen) => gate(entries, seen, head.upto) }
  }

  async #count(range: readonly unknown[], most: number): Promise<number> {
    const [row] = await this.#options.main.rows(COUNT, [...range, most])
    return Number(row!.entries)
  }
}

/** What a reader waits for. */
interface Wanted extends Pick<OpenChanges, 'last' | 'tables'> {
  readonly lsn: Lsn
  readonly snapshot: string
}

// One statement: the snapshot is taken before the function runs, so what it sees was written below this position.
const NOW = kept('SELECT pg_current_snapshot()::text AS snapshot, pg_current_wal_insert_lsn()::text AS lsn')

/** $1 head, $2 wanted position, $3 and $4 generation and end of the last one, $5 tables. */
const WANTED_ENTRIES = `e.head = h.id AND e.end_lsn > CASE WHEN h.generation::text = $3::text THEN $4::pg_lsn ELSE '0/0' END AND e.end_lsn <= h.upto
           AND e.relation = ANY ($5::text[]) AND h.start_snapshot IS NOT NULL AND h.upto >= $2::pg_lsn`

/** From this version on a message can flush the WAL before it. */
const FLUSHING_VERSION = 170_000
/** Only flushed WAL is decoded: what is not is flushed at once, also up to an asynchronous commit that is visible. */
const NOW_FLUSHED = kept(`
  SELECT pg_current_snapshot()::text AS snapshot, l.lsn::text,
         CASE WHEN pg_current_wal_flush_lsn() < l.lsn THEN pg_logical_emit_message(false, 'vitrina', '', true) END::text AS flushed
    FROM (SELECT pg_current_wal_insert_lsn() AS lsn OFFSET 0) l`)

/** The head is part of the first row only. */
const LOG = kept(`
  WITH log AS (
    SELECT CASE WHEN coalesce(c.place, 1) = 1 THEN (SELECT row_to_json(r)::text FROM (SELECT ${HEAD_COLUMNS}) r) END AS head,
           c.end_lsn::text, c.xid::text, c.relation, c.op::text, c.old::text, c.new::text
      FROM etl.etl_change_heads h LEFT JOIN LATERAL (
        SELECT row_number() OVER (ORDER BY e.end_lsn, e.seq) AS place, e.end_lsn, e.xid, e.relation, e.op, e.old, e.new
          FROM etl.etl_changes e WHERE ${WANTED_ENTRIES}
         ORDER BY e.end_lsn, e.seq LIMIT $6) c ON true
     WHERE h.id = $1 ORDER BY c.place)
  SELECT * FROM log`)

const COUNT = kept(`
  SELECT count(*)::text AS entries FROM (
    SELECT FROM etl.etl_change_heads h JOIN etl.etl_changes e ON ${WANTED_ENTRIES} WHERE h.id = $1 LIMIT $6) counted`)

/** The same gate as for entries that are read, inside the database. What is below its xmin is visible. */
const FIRST_HIDDEN = kept(`
  SELECT e.end_lsn::text FROM etl.etl_change_heads h JOIN etl.etl_changes e ON ${WANTED_ENTRIES}
   WHERE h.id = $1 AND e.xid >= pg_snapshot_xmin($6::pg_snapshot) AND NOT pg_visible_in_snapshot(e.xid, $6::pg_snapshot)
   ORDER BY e.end_lsn, e.seq LIMIT 1`)

function isReached(head: Head, lsn: Lsn): boolean {
  return head.startSnapshot !== null && head.upto >= lsn
}

interface Read {
  readonly head: Head
  readonly entries: readonly Entry[]
  readonly isTooLarge: boolean
  readonly gate: (snapshot: Snapshot) => Gate
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
    old: JSON.parse(row.old ?? 'null') as LoggedChange['old'],
    new: JSON.parse(row.new ?? 'null') as LoggedChange['new'],
  }
}

interface ReadFacts extends Pick<OpenChanges, 'last' | 'tables'> {
  readonly head: Head
  readonly structure: Structure
  readonly read: Pick<Read, 'entries' | 'isTooLarge'>
}

function reasonForFull({ head, last, structure, tables, read }: ReadFacts): string | null {
  const unpublished = unpublishedOf(tables, structure)
  if (head.startSnapshot === null) return 'The change log is being rebuilt.'
  if (unpublished.length > 0) return `Changes of ${unpublished.join(', ')} are not published.`
  if (last === null) return 'No run has followed changes of this query yet.'
  if (last.generation !== head.generation) return 'The replication slot was lost, or is new.'
  if (last.endLsn < head.trimmed) return 'The change log no longer reaches back to the last run.'
  if (last.fingerprint !== structure.fingerprint)
    return 'A table was truncated, or its structure has changed.'
  if (read.isTooLarge) return 'Too many rows have changed to follow each of them.'
  const whole = read.entries.find(({ op }) => op === 'T')
  return whole === undefined ? null : `${whole.relation} was truncated, or changed in too many rows at once.`
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
    `The change log of ${head.connection} did not catch up with this run within ${timeoutMs / 1000} s. ${cause}`,
    'See the error and the lag in etl.etl_change_heads, and the log of the runner that captures.',
  )
}
