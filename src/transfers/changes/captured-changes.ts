import { setTimeout as delay } from 'node:timers/promises'
import {
  ChangeReader,
  type Changes,
  type Entry,
  ensureHead,
  findRegistered,
  formatLsn,
  type Head,
  MOVED_CHANNEL,
  movePosition,
  parseLsn,
  planAddition,
  registerPipeline,
  relationName,
  type Signals,
} from '../../capture/index.js'
import type { LogPosition } from '../../checkpoints/checkpoint.js'
import { VitrinaError } from '../../model/errors.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { type Image, relationKey } from '../../scopes/index.js'
import { momentOf, type SweepFrom } from '../../sources/postgres/changes.js'
import type { ChangeSource, FoundChanges, NextPosition, TableChanges } from './change-source.js'
import type { CapturedTable, QueryTrace } from './query-trace.js'

export interface CapturedParts {
  readonly source: Session
  readonly trace: QueryTrace
  readonly pipelineId: string
  /** `main`, or the name of the source's connection. */
  readonly connection: string
  readonly sourceUrl: string
  readonly signals: Signals
  readonly signal: AbortSignal
  /** Above this, every row is computed. */
  readonly mostEntries: number
  /** The server reveals the numbers of its transactions to this login. */
  readonly showsMoments: boolean
  readonly last: LogPosition | null
}

/** A snapshot that misses rows which no entry reports is tried again: another transaction has to end first. */
const AGAIN_MS = 50
const TIMEOUT_MS = 30_000
/** Before entries are read again that were not visible. */
const HELD_MS = 10

/** `capture: wal`: changes from the log that a captor writes. Every change is seen, deleted and moved rows included. */
export class CapturedChanges implements ChangeSource {
  readonly heldBack = null
  readonly #parts: CapturedParts
  readonly #main: Session
  readonly #head: Head
  readonly #reader: ChangeReader
  readonly #relations: readonly string[]
  readonly #unsubscribe: () => void
  #last: LogPosition | null
  /** Entries that were not visible in the last snapshot. */
  #held = 0
  #hasNews = false
  #moving: Promise<void> = Promise.resolve()
  #wake: () => void = () => {}

  private constructor(parts: CapturedParts, opened: { main: Session; head: Head }) {
    this.#parts = parts
    this.#main = opened.main
    this.#head = opened.head
    this.#last = parts.last
    const { sourceUrl, signals, signal, trace, mostEntries } = parts
    this.#relations = distinct(trace.tables.map(({ capturedAs }) => capturedAs)).map(relationName)
    this.#unsubscribe = signals.on(MOVED_CHANNEL, ({ head, entries }) => {
      if (head !== opened.head.id || entries === 0) return
      this.#hasNews = true
      this.#wake()
    })
    const { head, main } = opened
    this.#reader = new ChangeReader({
      head: head.id,
      known: head,
      main,
      sourceUrl,
      signals,
      signal,
      mostEntries,
    })
  }

  /** Registers the pipeline before it reads for the first time, so that no entry is removed that it needs. */
  static async open(parts: CapturedParts, { main, found }: LogFacts): Promise<CapturedChanges> {
    const { connection, pipelineId, trace, source, last } = parts
    const head = found?.head ?? (await ensureHead(main, connection))
    if (last === null) await requirePublished(source, head, trace.tables)
    if (found?.isRegistered !== true) await registerPipeline(main, { head, pipelineId }, neededTables(trace))
    return new CapturedChanges(parts, { main, head })
  }

  get isFirst(): boolean {
    return this.#last === null
  }

  async first(): Promise<NextPosition> {
    const { source } = this.#parts
    for (const until = performance.now() + TIMEOUT_MS; ; ) {
      await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
      const found = await this.#open()
      const next = this.#nextOf(found, await this.#moment())
      await source.run('ROLLBACK')
      if (found.startCheck === 'ok') return next
      await again(until, this.#parts)
    }
  }

  async prepare(): Promise<void> {}

  async read(): Promise<FoundChanges | null> {
    const [found, moment] = await Promise.all([this.#open(), this.#moment()])
    if (found.startCheck === 'wait') return null
    const next = this.#nextOf(found, moment)
    const { trace } = this.#parts.trace
    const full = found.full ?? (trace.traced || found.entries.length === 0 ? null : trace.reason)
    return { full, tables: full === null ? this.#imagesOf(found.entries) : new Map(), next }
  }

  async applied({ wal }: NextPosition): Promise<void> {
    if (wal === undefined) return
    await this.#moving
    this.#last = wal
    const { pipelineId } = this.#parts
    const position = { generation: wal.generation, endLsn: parseLsn(wal.endLsn) }
    // It only releases entries, so the run does not wait for it, and an error does not fail it: the next one does it.
    this.#moving = movePosition(this.#main, { head: this.#head, pipelineId }, position).catch(() => {})
  }

  readonly waitForChanges = async (timeoutMs: number): Promise<boolean> => {
    const { signal } = this.#parts
    if (this.#held > 0) {
      // What is decoded before it is visible comes without another notification.
      await delay(HELD_MS, undefined, { signal })
      return true
    }
    if (!this.#hasNews) {
      const waiting = new AbortController()
      this.#wake = () => waiting.abort()
      await delay(timeoutMs, undefined, { signal: AbortSignal.any([signal, waiting.signal]) }).catch(() => {})
      signal.throwIfAborted()
    }
    // Behind a pooler no notification arrives.
    return this.#hasNews || (await this.#isBehind())
  }

  async #isBehind(): Promise<boolean> {
    if (this.#last === null) return true
    const rows = await this.#main.rows(
      `SELECT 1 AS found FROM etl.etl_change_heads h WHERE h.id = $1 AND (h.generation <> $2 OR
         EXISTS (SELECT FROM etl.etl_changes c WHERE c.head = h.id AND c.end_lsn > $3 AND c.relation = ANY ($4::text[])))`,
      [this.#head.id, this.#last.generation, this.#last.endLsn, this.#relations],
    )
    return rows.length > 0
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    await this.#moving
    await this.#reader.close()
  }

  async #open(): Promise<Changes> {
    const { source, trace } = this.#parts
    const tables = trace.tables.map(({ capturedAs }) => capturedAs)
    // Before the log is read: what arrives meanwhile is news again.
    this.#hasNews = false
    const found = await onSide('source', 'Reading the change log', () =>
      this.#reader.open({ source, tables: distinct(tables), last: this.#lastOfQuery() }),
    )
    if (found.unpublished.length > 0) await requirePublished(source, this.#head, trace.tables)
    this.#held = found.held
    return found
  }

  /** For another query the mart has to be compared with all of its rows. */
  #lastOfQuery(): Parameters<ChangeReader['open']>[0]['last'] {
    if (this.#last === null) return null
    const { generation, endLsn, fingerprint } = this.#last
    const [structure = '', query] = fingerprint.split('/')
    if (query !== this.#parts.trace.fingerprint) return null
    return { generation, endLsn: parseLsn(endLsn), fingerprint: structure }
  }

  /** A comparison recognizes rows that have changed since by their version. */
  #nextOf(found: Changes, moment: SweepFrom | null): NextPosition {
    return { wal: this.#positionOf(found), ...(moment === null ? {} : { xmin: moment }) }
  }

  async #moment(): Promise<SweepFrom | null> {
    return this.#parts.showsMoments ? momentOf(this.#parts.source) : null
  }

  #positionOf({ generation, position, fingerprint }: Changes): LogPosition {
    const { trace } = this.#parts
    return {
      generation,
      endLsn: formatLsn(position),
      fingerprint: `${fingerprint}/${trace.fingerprint}`,
    }
  }

  #imagesOf(entries: readonly Entry[]): Map<string, TableChanges> {
    const names = new Map(
      this.#parts.trace.tables.map(({ capturedAs }) => [relationName(capturedAs), relationKey(capturedAs)]),
    )
    const tables = new Map<string, { changed: Image[]; old: Image[] }>()
    for (const entry of entries) {
      const name = names.get(entry.relation)!
      const images = tables.get(name) ?? { changed: [], old: [] }
      tables.set(name, images)
      if (entry.old !== null) {
        images.changed.push(entry.old)
        images.old.push(entry.old)
      }
      if (entry.new !== null) images.changed.push(entry.new)
    }
    return tables
  }
}

/** A change log, and what it knows about a pipeline. */
export interface LogFacts {
  readonly main: Session
  /** Null: it has no head yet. */
  readonly found: Awaited<ReturnType<typeof findRegistered>>
}

export async function factsOfLog(
  main: Session,
  { connection, pipelineId, trace }: Pick<CapturedParts, 'connection' | 'pipelineId' | 'trace'>,
): Promise<LogFacts> {
  return { main, found: await findRegistered(main, { connection, pipelineId }, neededTables(trace)) }
}

function neededTables({ trace, tables }: QueryTrace) {
  const columns = new Map<string, Set<string>>()
  for (const { capturedAs } of tables) columns.set(relationKey(capturedAs), new Set())
  for (const each of trace.traced ? trace.tables : [])
    for (const column of each.columns) columns.get(relationKey(each.capturedAs))?.add(column)
  return distinct(tables.map(({ capturedAs }) => capturedAs)).map((table) => ({
    ...table,
    columns: [...(columns.get(relationKey(table)) ?? [])],
  }))
}

function distinct(tables: readonly CapturedTable['capturedAs'][]): CapturedTable['capturedAs'][] {
  return [...new Map(tables.map((table) => [relationKey(table), table])).values()]
}

async function again(until: number, { signal }: CapturedParts): Promise<void> {
  if (performance.now() > until) {
    throw new VitrinaError(
      'CAPTURE_WAITING',
      `For ${TIMEOUT_MS / 1000} s a transaction of the source has been open that began before its tables were captured: its changes are not in the change log.`,
      'Wait until the transaction has ended, or end it: SELECT pid, xact_start, query FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY xact_start. Then run the pipeline again.',
    )
  }
  await delay(AGAIN_MS, undefined, { signal })
}

/** Fails at once: without a publication no change ever arrives. */
async function requirePublished(
  source: Session,
  { publication, connection }: Head,
  tables: readonly CapturedTable[],
): Promise<void> {
  const wanted = distinct(tables.map(({ capturedAs }) => capturedAs))
  const { plan, level } = await onSide('source', 'Reading the publication', async () => ({
    plan: await planAddition(source, publication, wanted),
    level: (await source.row("SELECT current_setting('wal_level') AS level")).level,
  }))
  const { adding, statements, refused } = plan
  const command = `vitrina sources prepare ${connection}`
  if (level !== 'logical')
    throw new VitrinaError(
      'CAPTURE_UNAVAILABLE',
      `The source "${connection}" has wal_level ${level}: its WAL does not contain the changed rows.`,
      `Set wal_level to logical and restart the server; "${command}" prints everything that is missing. Or choose capture "xmin" or "key".`,
    )
  const [first] = refused
  if (first !== undefined) {
    const remedy =
      first.remedy === null
        ? 'Choose capture "xmin" or "key"'
        : `As the owner of the table: ${first.remedy}; then run "${command} --apply"`
    throw new VitrinaError(
      'CAPTURE_UNAVAILABLE',
      `Changes of ${first.table} cannot be captured: ${first.reason}`,
      `${remedy}. Or use mode "full".`,
    )
  }
  // Another table of the publication that can no longer be published does not concern this pipeline.
  if (adding.length === 0) return
  throw new VitrinaError(
    'CAPTURE_UNAVAILABLE',
    `Changes of ${wanted.map(relationName).join(', ')} are not published in the source "${connection}".`,
    `Run "${command} --apply", or as the owner of the tables: ${statements.join('; ')}.`,
  )
}
