import type { ColumnProfile, MartProfile } from '../model/mart-data.js'
import type { Session } from '../postgres/session.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import type { MartTable, MartTableColumn } from './mart-table.js'
import { type ProfiledRows, profileColumn, skippedColumn } from './profile-column.js'
import { suggestChecks } from './suggest-checks.js'

/** Limits of a profile. */
export interface ProfileLimits {
  /** For all columns together. */
  readonly timeMs: number
  /** Larger tables are sampled. */
  readonly exactRows: number
  /** About so many rows are then examined. */
  readonly sampleRows: number
}

export const PROFILE_LIMITS: ProfileLimits = { timeMs: 20_000, exactRows: 200_000, sampleRows: 100_000 }

const OUT_OF_TIME = 'The time limit of the profile had passed.'
/** SYSTEM accepts smaller ones too, but they would read no block at all. */
const LEAST_PERCENT = 0.0001

/** Profiles every column inside the transaction of the caller, until the time is up. */
export async function profileMart(
  session: Session,
  table: MartTable,
  limits: ProfileLimits = PROFILE_LIMITS,
): Promise<MartProfile> {
  const deadline = performance.now() + limits.timeMs
  const estimate = await estimateRows(session, table)
  const percent = estimate > limits.exactRows ? percentFor(estimate, limits) : null
  const examined = {
    quoted: table.quoted,
    // The same sample for every column.
    relation:
      percent === null ? table.quoted : `${table.quoted} TABLESAMPLE SYSTEM (${percent}) REPEATABLE (1)`,
    isSample: percent !== null,
    rows: estimate,
  }
  const profiles: ColumnProfile[] = []
  let rows: number | null = null
  for (const column of table.columns) {
    const found = await profileOrSkip(
      session,
      { column, examined: { ...examined, isKey: table.key.includes(column.name) } },
      deadline,
    )
    if ('rows' in found) rows ??= found.rows
    profiles.push(withoutRows(found))
  }
  const whole = {
    rows: percent === null && rows !== null ? rows : estimate,
    rowsExact: percent === null && rows !== null,
    rowsExamined: rows ?? 0,
    samplePercent: percent,
    columns: profiles,
    hiddenColumns: table.hiddenColumns,
  }
  return { ...whole, suggestedChecks: suggestChecks(whole, table.key) }
}

function withoutRows(found: ColumnProfile & { readonly rows?: number }): ColumnProfile {
  const { rows: _, ...profile } = found
  return profile
}

async function profileOrSkip(
  session: Session,
  { column, examined }: { readonly column: MartTableColumn; readonly examined: ProfiledRows },
  deadline: number,
): Promise<ColumnProfile | (ColumnProfile & { readonly rows: number })> {
  const left = Math.floor(deadline - performance.now())
  if (left <= 0) return skippedColumn(column, examined, OUT_OF_TIME)
  await session.run(`SAVEPOINT one_column; SET LOCAL statement_timeout = ${left}`)
  try {
    return await profileColumn(session, column, examined)
  } catch (error) {
    // 57014: the time limit. Class 22: a value that cannot be plotted; the other columns can.
    if (!/^(57014|22)/.test(sqlstateOf(error) ?? '')) throw error
    const reason = sqlstateOf(error) === '57014' ? OUT_OF_TIME : (error as Error).message
    return skippedColumn(column, examined, reason)
  } finally {
    await session.run('ROLLBACK TO SAVEPOINT one_column')
  }
}

function percentFor(estimate: number, { sampleRows }: ProfileLimits): number {
  const percent = Math.max(LEAST_PERCENT, (100 * sampleRows) / estimate)
  return Number(Math.min(100, percent).toFixed(4))
}

/** From the size of the table now and its statistics, without reading it. */
export async function estimateRows(session: Session, { quoted }: MartTable): Promise<number> {
  const [row] = await session.rows(`EXPLAIN (FORMAT JSON) SELECT FROM ${quoted}`)
  const [plan] = JSON.parse(row!['QUERY PLAN']!) as [{ readonly Plan: { readonly 'Plan Rows': number } }]
  return plan.Plan['Plan Rows']
}
