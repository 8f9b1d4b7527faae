import { VitrinaError } from '../../model/errors.js'
import { LOGINS } from '../../model/logins.js'
import type { HeldBack } from '../../model/run.js'
import { kept } from '../../postgres/kept-statements.js'
import type { Session } from '../../postgres/session.js'
import { TIMELINE } from '../../postgres/timeline.js'
import { quoteIdentifier, quoteList, quoteTable } from '../../sql/identifiers.js'
import type { Column } from '../../sql/selection.js'
import { sqlstateOf } from '../../sql/sqlstate.js'

/** The first transaction whose row versions are new, and the cluster that the number belongs to. */
export interface SweepFrom {
  readonly from: string
  readonly system: string
}

/** Half the range of an xid: beyond that, old and new cannot be distinguished. */
const OLDEST_AGE = 1_500_000_000

/** The oldest transaction that is still open: whatever commits later has this number or a higher one. */
export async function sweepStart(session: Session): Promise<SweepFrom> {
  const [row] = await session.rows(START)
  return { from: row!.from!, system: row!.system! }
}

/** The transaction that `from` waits for; null: it has ended, or this login may not see it. Our own ones end by themselves. */
export async function openSince(session: Session, { from }: SweepFrom): Promise<HeldBack | null> {
  const [row] = await session.rows(
    `SELECT a.pid::text, coalesce(a.xact_start, a.query_start)::text AS began, a.application_name AS name, a.state, NULL AS prepared
       FROM pg_stat_activity a
      WHERE a.backend_xid::text = ($1::numeric % 4294967296)::text AND a.pid <> pg_backend_pid() AND a.usename <> ALL ($2::name[])
     UNION ALL
     SELECT NULL, p.prepared::text, NULL, NULL, p.gid FROM pg_prepared_xacts p WHERE p.transaction::text = ($1::numeric % 4294967296)::text
     LIMIT 1`,
    [from, Object.values(LOGINS)],
  )
  if (row === undefined) return null
  const who = row.name === null || row.name === '' ? '' : ` of ${row.name}`
  const what =
    row.prepared === null
      ? `an open transaction${who} (${row.state}) could still commit changes`
      : `the prepared transaction "${row.prepared}" is neither committed nor rolled back`
  const pid = row.pid === null ? null : Number(row.pid)
  return { reason: `${what}, so that newer ones are read again`, pid, since: row.began ?? null }
}

// The identifier of the cluster and its timeline: after a restore or a promotion the numbers mean something else.
const SYSTEM = `(SELECT system_identifier FROM pg_control_system())::text || '/' || ${TIMELINE}::text`

const START = kept(`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS "from", ${SYSTEM} AS system`)

/** The same where it is optional: null on a server that hides its identity from this login. */
export function momentOf(session: Session): Promise<SweepFrom | null> {
  return sweepStart(session).catch(nullIfHidden)
}

/** Where a sweep starts, with the transactions that are open. */
export interface CommittedNow extends SweepFrom {
  readonly open: readonly string[]
}

/**
 * Everything committed so far. Not limited by the oldest open transaction: that would leave out what others, including
 * our own pipelines, have committed since it began.
 */
export async function committedBy(session: Session): Promise<CommittedNow | null> {
  return (await momentAndCommitted(session))?.mart ?? null
}

/** Both of one moment, for a source and a mart in the same database; null: the server hides its identity. */
export async function momentAndCommitted(
  session: Session,
): Promise<{ readonly source: SweepFrom; readonly mart: CommittedNow } | null> {
  const rows = await session.rows(COMMITTED).catch(nullIfHidden)
  if (rows === null) return null
  const { oldest, from, system, open } = rows[0]!
  return {
    source: { from: oldest!, system: system! },
    mart: { from: from!, system: system!, open: open!.match(/\d+/g) ?? [] },
  }
}

const COMMITTED = kept(
  `SELECT pg_snapshot_xmin(s)::text AS oldest, pg_snapshot_xmax(s)::text AS "from", ${SYSTEM} AS system,
          ARRAY(SELECT pg_snapshot_xip(s))::text AS open
     FROM pg_current_snapshot() AS s`,
)

function nullIfHidden(error: unknown): null {
  if (sqlstateOf(error) === INSUFFICIENT_PRIVILEGE) return null
  throw error
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** False: the numbers of the last sweep are no longer valid here, everything has to be read again. */
export async function canSweepFrom(session: Session, last: SweepFrom): Promise<boolean> {
  return isComparable(await sweepStart(session), last)
}

/** Whether earlier transaction numbers can be compared with current ones. */
export function isComparable(now: SweepFrom | null, last: SweepFrom | null): boolean {
  if (now === null || last === null) return false
  const age = BigInt(now.from) - BigInt(last.from)
  return now.system === last.system && age >= 0n && age < BigInt(OLDEST_AGE)
}

/** SQL condition for a row, called t, whose version is new since then. */
export function isNewSince({ from }: SweepFrom): string {
  return `age(t.xmin) <= age(${xid(from)})`
}

/** As system columns show it: without the epoch. */
export function xid(from: string): string {
  return `'${BigInt(from) % 4_294_967_296n}'::xid`
}

interface ChangedKeys {
  readonly key: readonly Column[]
  /** The tables that the query reads. */
  readonly relations: readonly string[]
  readonly from: SweepFrom
}

/**
 * A query for the mart keys affected by every row version that is new since `from`.
 *
 * The key of the mart must be a column of one of the tables that the query reads. A change in that table contains its
 * key; a change in another table is followed along every foreign key that can lead there: from that table, to that
 * table, or through a link table. The query may join by any of them.
 */
export async function changedKeysSql(
  session: Session,
  { key, relations, from }: ChangedKeys,
): Promise<string> {
  const base = await keyTable(session, key)
  const links = await foreignKeys(session, relations)
  const branches = relations.flatMap((relation) => {
    const ways = waysToKey(relation, base, links)
    if (ways.length > 0) return ways.map((way) => `${way} WHERE ${isNewSince(from)}`)
    throw new VitrinaError(
      'CAPTURE_UNSUPPORTED',
      `The query reads ${relation}, but no foreign key connects it to the key of the mart (${base.relation}: ${base.columns.join(', ')}), so its changes cannot be followed.`,
      'Declare the foreign key, choose capture "key" with a column that advances with every change, or use mode "full".',
    )
  })
  return branches.join(' UNION ')
}

/** Queries from rows of `relation`, called t, to the keys that they may contribute to. */
function waysToKey(relation: string, base: KeyTable, links: readonly ForeignKey[]): string[] {
  const own = relation === base.relation ? [`SELECT ${quoteList(base.columns, 't.')} FROM ${relation} t`] : []
  const towards = links.filter((link) => leadsToKey(link, base))
  const direct = towards
    .filter((link) => link.from === relation)
    .map((link) => `SELECT ${keyColumns(link, base, 't')} FROM ${relation} t`)
  const outward = links
    .filter((link) => link.from === base.relation && link.to === relation)
    .map(
      (link) =>
        `SELECT ${quoteList(base.columns, 'l.')} FROM ${relation} t JOIN ${link.from} l ON ${joined(link)}`,
    )
  const through = towards.flatMap((link) =>
    links
      .filter((hop) => hop.from === link.from && hop.to === relation && hop !== link)
      .map(
        (hop) =>
          `SELECT ${keyColumns(link, base, 'l')} FROM ${relation} t JOIN ${link.from} l ON ${joined(hop)}`,
      ),
  )
  return [...own, ...direct, ...outward, ...through]
}

/** A foreign key as a condition: l is the referencing table, t the referenced one. */
function joined(link: ForeignKey): string {
  return link.fromColumns
    .map((column, index) => `l.${quoteIdentifier(column)} = t.${quoteIdentifier(link.toColumns[index]!)}`)
    .join(' AND ')
}

interface KeyTable {
  readonly relation: string
  readonly columns: readonly string[]
}

async function keyTable(session: Session, key: readonly Column[]): Promise<KeyTable> {
  const tables = new Set(key.map((column) => column.base?.tableId ?? null))
  const [tableId] = tables
  if (tables.size !== 1 || tableId === null || tableId === undefined) {
    throw new VitrinaError(
      'CAPTURE_UNSUPPORTED',
      `The key columns (${key.map((column) => column.name).join(', ')}) are not plain columns of one table, so changed rows cannot be traced to them.`,
      'Take the key unchanged from one table, choose capture "key", or use mode "full".',
    )
  }
  const rows = await session.rows(
    `SELECT n.nspname AS schema, c.relname AS relation, a.attname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid JOIN unnest($2::int2[]) WITH ORDINALITY AS k(attnum, n) ON k.attnum = a.attnum WHERE c.oid = $1::oid ORDER BY k.n`,
    [tableId, key.map((column) => column.base!.attribute)],
  )
  return {
    relation: quoteTable({ schema: rows[0]!.schema!, table: rows[0]!.relation! }),
    columns: rows.map((row) => row.name!),
  }
}

interface ForeignKey {
  readonly from: string
  readonly fromColumns: readonly string[]
  readonly to: string
  readonly toColumns: readonly string[]
}

async function foreignKeys(session: Session, relations: readonly string[]): Promise<ForeignKey[]> {
  const names = (attributes: string, table: string) =>
    `(SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(${attributes}) WITH ORDINALITY AS k(attnum, n) JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.attnum)`
  const rows = await session.rows(
    `SELECT f.name AS "from", t.name AS "to", ${names('c.conkey', 'c.conrelid')} AS from_columns, ${names('c.confkey', 'c.confrelid')} AS to_columns
       FROM pg_constraint c JOIN unnest($1::text[]) AS f(name) ON f.name::regclass = c.conrelid JOIN unnest($1::text[]) AS t(name) ON t.name::regclass = c.confrelid
      WHERE c.contype = 'f'`,
    [relations],
  )
  return rows.map((row) => ({
    from: row.from!,
    to: row.to!,
    fromColumns: JSON.parse(row.from_columns!) as string[],
    toColumns: JSON.parse(row.to_columns!) as string[],
  }))
}

function leadsToKey(link: ForeignKey, base: KeyTable): boolean {
  return link.to === base.relation && base.columns.every((column) => link.toColumns.includes(column))
}

function keyColumns(link: ForeignKey, base: KeyTable, alias: string): string {
  return base.columns
    .map((column) => `${alias}.${quoteIdentifier(link.fromColumns[link.toColumns.indexOf(column)]!)}`)
    .join(', ')
}
