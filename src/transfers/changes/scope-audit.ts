import type { ScopeAudit } from '../../checkpoints/checkpoint.js'
import type { FailedAudit } from '../../model/run.js'
import type { Session } from '../../postgres/session.js'
import { arrayLiteral, recomputeText, type Traced } from '../../scopes/index.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { quoteIdentifier, quoteList } from '../../sql/identifiers.js'
import { asRelation, type Column, columnList } from '../../sql/selection.js'
import type { Scopes } from '../marts/mart.js'

/** The share of a pipeline's time that audits may take. */
const MOST_OF_TIME = 0.05
const SCOPES = 5

/** The audit of a query so far; a new one if it is another query. */
export function auditOf(audit: ScopeAudit | undefined, query: string): ScopeAudit {
  if (audit?.query === query) return audit
  return { query, since: new Date().toISOString(), scopes: 0, runMs: 0, auditMs: 0 }
}

/** The first incremental run is audited; then as often as the share of time allows. */
export function isAuditDue({ scopes, runMs, auditMs }: ScopeAudit): boolean {
  return scopes === 0 || auditMs <= runMs * MOST_OF_TIME
}

/** A few scopes of the mart at random. Reads as many of its pages as scopes are wanted. */
export async function randomScopes(
  session: Session,
  { quoted, oid }: TargetTable,
  scope: Traced['scope'],
): Promise<Scopes> {
  const { pages } = await session.row(
    "SELECT greatest(pg_relation_size($1::oid) / current_setting('block_size')::int, 1)::text AS pages",
    [oid],
  )
  const percent = Math.min(100, (SCOPES / Number(pages)) * 100)
  const names = scope.map(({ name }, place) => `${quoteIdentifier(name)}::text AS k${place}`)
  // A partitioned table has no pages of its own; then all of its partitions are sampled.
  const rows = await session.rows(
    `SELECT DISTINCT ${names.join(', ')} FROM ${quoted} TABLESAMPLE SYSTEM (${percent}) LIMIT ${SCOPES}`,
  )
  return { columns: scope, values: scope.map((_, place) => rows.map((row) => row[`k${place}`]!)) }
}

/** What the query returns for these scopes, from scratch. */
export function auditSelection(trace: Traced, columns: readonly Column[], { values }: Scopes): string {
  return `SELECT ${columnList(columns)} FROM ${asRelation(recomputeText(trace, 'any', values))}`
}

interface ComputedScopes {
  readonly target: TargetTable
  readonly scopes: Scopes
  /** The temporary table with the computed rows. */
  readonly computed: string
  /** Columns that two plans may compute differently from the same rows. */
  readonly ignored: readonly string[]
}

/** Compares the mart with computed rows, in the types of the mart. Null: they are equal. */
export async function compareAudited(
  session: Session,
  { target, scopes, computed, ignored }: ComputedScopes,
): Promise<Pick<FailedAudit, 'rows' | 'key'> | null> {
  const compared = target.columns
    .map(({ name }, place) => ({ name, type: target.types[place]! }))
    .filter(({ name }) => !ignored.includes(name))
  const typed = compared.map(
    ({ name, type }) => `${quoteIdentifier(name)}::${type} AS ${quoteIdentifier(name)}`,
  )
  const all = compared.map(({ name }) => name)
  const own = quoteList(all)
  const wanted = scopes.columns.map(({ type }, place) => `${arrayLiteral(scopes.values[place]!)}::${type}[]`)
  const names = scopes.columns.map(({ name }) => quoteIdentifier(name))
  const inScopes = `(${names.join(', ')}) IN (SELECT * FROM unnest(${wanted.join(', ')}))`
  const key = target.key.map((name) => `coalesce(m.${quoteIdentifier(name)}, c.${quoteIdentifier(name)})`)
  const row = await session.row(
    `SELECT count(*) AS rows, min(concat_ws(', ', ${key.join(', ')})) AS key
       FROM (SELECT ${own} FROM ${target.quoted} WHERE ${inScopes}) m FULL JOIN (SELECT ${typed.join(', ')} FROM ${computed}) c
         USING (${quoteList(target.key)})
      WHERE ROW(${quoteList(all, 'm.')})::record *<> ROW(${quoteList(all, 'c.')})::record`,
  )
  const rows = Number(row.rows)
  return rows === 0 ? null : { rows, key: row.key ?? '' }
}
