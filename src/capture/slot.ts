import type { Session } from '../postgres/session.js'
import { TIMELINE } from '../postgres/timeline.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { type Lsn, parseLsn } from './lsn.js'
import { MEMBERS } from './publication.js'
import { ReplicationClient } from './replication-client.js'

/** The source as a captor finds it. */
export interface SlotState {
  readonly exists: boolean
  /** A slot of this name that decodes another database, or with another plugin. */
  readonly isForeign: boolean
  readonly isInvalid: boolean
  readonly confirmed: Lsn | null
  readonly now: Lsn
  readonly system: string
  readonly timeline: number
  /** WAL that the source keeps for the slot, and the part of it that was not captured yet. */
  readonly heldBytes: number | null
  readonly lagBytes: number | null
}

/** The source as the log has recorded it. */
export interface LoggedSource {
  readonly upto: Lsn
  readonly system: string | null
  readonly timeline: number | null
  /** False: no usable log yet. */
  readonly isStarted: boolean
}

/** The slot was advanced or removed by another session while it was in use. */
export class SlotMoved extends Error {}

// to_jsonb: invalidation_reason came with PostgreSQL 16.
const STATE = `
  SELECT s.slot_name IS NOT NULL AS "exists", s.database IS DISTINCT FROM current_database() OR s.plugin <> 'pgoutput' AS "isForeign",
         s.wal_status = 'lost' OR coalesce(to_jsonb(s) ->> 'invalidation_reason', '') <> '' AS "isInvalid",
         s.confirmed_flush_lsn::text AS confirmed, now.lsn::text AS now,
         (SELECT system_identifier FROM pg_control_system())::text AS system, ${TIMELINE}::text AS timeline,
         pg_wal_lsn_diff(now.lsn, s.restart_lsn)::text AS held, pg_wal_lsn_diff(now.lsn, s.confirmed_flush_lsn)::text AS lag
    FROM (SELECT pg_current_wal_insert_lsn() AS lsn) now LEFT JOIN pg_replication_slots s ON s.slot_name = $1`

export async function slotState(session: Session, slot: string): Promise<SlotState> {
  const [row] = await session.rows(STATE, [slot])
  const { exists, isForeign, isInvalid, confirmed, now, system, timeline, held, lag } = row!
  return {
    exists: exists === 't',
    isForeign: isForeign === 't',
    isInvalid: isInvalid === 't',
    confirmed: confirmed == null ? null : parseLsn(confirmed),
    now: parseLsn(now!),
    system: system!,
    timeline: Number(timeline),
    heldBytes: numberOrNull(held),
    lagBytes: numberOrNull(lag),
  }
}

function numberOrNull(text: string | null | undefined): number | null {
  return text == null ? null : Number(text)
}

/** Why the slot cannot continue the log; null: it can. */
export function lossOf(slot: SlotState, log: LoggedSource): string | null {
  if (!log.isStarted) return 'No slot existed yet.'
  if (!slot.exists) return 'The slot no longer exists on the source.'
  if (slot.isForeign) return 'The slot belongs to another database.'
  if (slot.isInvalid || slot.confirmed === null) return 'The source has removed WAL that the slot needed.'
  if (slot.system !== log.system || slot.timeline !== log.timeline)
    return `The source is another server or was promoted or restored: ${log.system}, timeline ${log.timeline} became ${slot.system}, timeline ${slot.timeline}.`
  if (slot.confirmed > log.upto) return 'The slot was advanced or created again by another session.'
  if (slot.now < log.upto) return 'The source was restored to an earlier moment.'
  return null
}

export interface CreatedSlot {
  /** The log is complete from here on. */
  readonly start: Lsn
  /** Which transactions the slot will not report. */
  readonly snapshot: string
  /** The tables that were in the publication. */
  readonly members: readonly string[]
}

/** Waits until every transaction that is open in the cluster has ended. */
export async function createSlot(
  { session, url }: { readonly session: Session; readonly url: string },
  names: { readonly slot: string; readonly publication: string },
  signal: AbortSignal,
): Promise<CreatedSlot> {
  const client = await ReplicationClient.open(url, signal)
  try {
    // The older spelling: PostgreSQL 14 does not know the one with parentheses, and later versions accept both.
    const [made] = await client.command(
      `CREATE_REPLICATION_SLOT "${names.slot}" LOGICAL pgoutput EXPORT_SNAPSHOT`,
    )
    await session.run(
      `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '${made!.snapshot_name}'`,
    )
    const [seen] = await session.rows(`SELECT pg_current_snapshot()::text AS snapshot`)
    const members = await session.rows(MEMBERS, [names.publication])
    await session.run('COMMIT')
    return {
      start: parseLsn(made!.consistent_point!),
      snapshot: seen!.snapshot!,
      members: members.map(({ oid }) => oid!),
    }
  } catch (error) {
    await session.run('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.close()
  }
}

/**
 * The same by SQL, behind a pooler. It exports no snapshot, so the first read has to see every transaction that had a
 * number when the slot was ready: stricter, and it waits longer.
 */
export async function createSlotBySql(
  session: Session,
  names: { readonly slot: string; readonly publication: string },
): Promise<CreatedSlot> {
  const [made] = await session.rows(
    `SELECT lsn::text AS start FROM pg_create_logical_replication_slot($1, 'pgoutput')`,
    [names.slot],
  )
  const [seen] = await session.rows('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax')
  return { start: parseLsn(made!.start!), snapshot: `${seen!.xmax}:${seen!.xmax}:`, members: [] }
}

const UNDEFINED_OBJECT = '42704'

/** Ends the session that uses the slot: it belongs to a captor that lost its lease, and may be frozen. */
export async function dropSlot(session: Session, slot: string): Promise<void> {
  await endUser(session, slot)
  try {
    await session.rows('SELECT pg_drop_replication_slot($1)', [slot])
  } catch (error) {
    if (sqlstateOf(error) !== UNDEFINED_OBJECT) throw error
  }
}

export async function endUser(session: Session, slot: string): Promise<void> {
  await session.rows(
    `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
      WHERE slot_name = $1 AND active_pid IS NOT NULL AND active_pid <> pg_backend_pid()`,
    [slot],
  )
}

/** The oldest transactions that a new slot waits for, in words; null: none. */
export async function openTransactions(session: Session): Promise<string | null> {
  const rows = await session.rows(
    `SELECT format('%s of %s in %s, open since %s', CASE WHEN pid IS NULL THEN 'prepared transaction ' || name ELSE 'session ' || pid END,
              "user", database, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) AS text
       FROM (SELECT pid, NULL AS name, usename::text AS "user", datname::text AS database, xact_start AS since
               FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
             UNION ALL SELECT NULL, gid, owner::text, database::text, prepared FROM pg_prepared_xacts) open
      ORDER BY since NULLS LAST LIMIT 3`,
  )
  return rows.length === 0 ? null : rows.map(({ text }) => text!).join('; ')
}
