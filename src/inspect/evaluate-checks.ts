import {
  type CheckedColumn,
  type CheckRules,
  checkMart,
  compileChecks,
  erroneous,
  keyText,
  type MartCheck,
} from '../checks/index.js'
import type { Check, CheckResult } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import { isAllowedTable } from '../model/target.js'
import type { Session } from '../postgres/session.js'
import { requireStoredInTargets } from '../sinks/postgres/stored-elsewhere.js'
import { parseTable, quoteTable, type TableName } from '../sql/identifiers.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { relateToSource } from './relate-to-source.js'

/** As long as a user waits for a check of a large mart. */
const STATEMENT_TIMEOUT = '60s'

type ReadableMart = Parameters<typeof checkMart>[0] & { readonly session: Session }

interface Evaluation {
  readonly pipeline: Pipeline
  readonly rules: CheckRules
  readonly usual: (check: string) => Promise<readonly number[]>
  /** Opens a session of the login that may read sources in the database of the mart; null: the same login reads both. */
  readonly openReader: (() => Promise<Session>) | null
}

/** Evaluates every check of a pipeline over the rows that its mart has now. Nothing is changed. */
export async function evaluateChecks(session: Session, evaluation: Evaluation): Promise<CheckResult[]> {
  const { pipeline, rules, usual, openReader } = evaluation
  const address = finalTarget(pipeline)
  // A target that was set with SQL has not been checked: the login of the API can read more than marts.
  if (!isAllowedTable(parseTable(address), rules.targets)) throw refused(address, rules)
  const table = quoteTable(parseTable(address))
  const oid = await tableOid(session, parseTable(address))
  if (oid === null)
    throw new VitrinaError(
      'CHECK_INVALID',
      `${address} does not exist yet or is not a table, so that its checks cannot be evaluated.`,
      'Run the pipeline first.',
    )
  await requireStoredInTargets(session, oid, rules.targets)
  const columns = await columnsOf(session, oid)
  const key = await keyOf(session, table, pipeline.keyColumns)
  const mart = { session, table, key: key.length > 0 ? key : [columns[0]!.name], usual }
  await session.run(`SET statement_timeout = '${STATEMENT_TIMEOUT}'`)
  const results: CheckResult[] = []
  for (const check of pipeline.checks) {
    const one = { check, columns, rules }
    const compiled = await compiledFor(session, one)
    if (!(compiled instanceof VitrinaError)) results.push(await evaluated(mart, compiled))
    else if (openReader !== null && isNotPermitted(compiled))
      results.push(await related(mart, one, openReader))
    else results.push(unusable(check, compiled))
  }
  return results
}

function refused(address: string, { targets }: CheckRules): VitrinaError {
  return new VitrinaError(
    'TARGET_REFUSED',
    `${address} is not an allowed target (allowed: ${targets.tables.join(', ')}), so its checks are not evaluated.`,
    'Change the target of the pipeline, or ask an administrator to extend ALLOWED_TARGET_TABLES.',
  )
}

interface OneCheck {
  readonly check: Check
  readonly columns: readonly CheckedColumn[]
  readonly rules: CheckRules
}

async function compiledFor(
  session: Session,
  { check, columns, rules }: OneCheck,
): Promise<MartCheck | VitrinaError> {
  try {
    const { rows, mart } = await compileChecks(session, { checks: [check], columns }, rules)
    return mart[0] ?? { ...rows[0]!, isAggregate: false }
  } catch (error) {
    if (!(error instanceof VitrinaError) || error.code !== 'CHECK_INVALID') throw error
    return error
  }
}

function unusable(check: Check, error: VitrinaError): CheckResult {
  return erroneous({ check }, new Error(error.message.slice(0, -1)), { over: 'mart', durationMs: 0 })
}

const NOT_PERMITTED = '42501'

/** The login that reads marts may not read the other table of a relationship. */
export function isNotPermitted({ cause }: VitrinaError): boolean {
  return sqlstateOf(cause) === NOT_PERMITTED
}

async function evaluated(mart: ReadableMart, check: MartCheck): Promise<CheckResult> {
  const [result] = await inSnapshot(mart.session, () => checkMart(mart, [check]))
  // The rows are in the mart: none was set aside.
  return result!.status === 'quarantined' ? { ...result!, status: 'failed' } : result!
}

async function related(
  { session, table, key }: ReadableMart,
  one: OneCheck,
  openReader: () => Promise<Session>,
): Promise<CheckResult> {
  const { check, columns } = one
  const source = await openReader()
  try {
    await source.run(`SET statement_timeout = '${STATEMENT_TIMEOUT}'`)
    const compiled = await compiledFor(source, one)
    if (compiled instanceof VitrinaError) return unusable(check, compiled)
    const row = { check, condition: compiled.condition! }
    return await inSnapshot(session, () =>
      relateToSource({ mart: session, source }, { table, columns, check: row, key: keyText(key) }),
    )
  } catch (error) {
    if (error instanceof VitrinaError || sqlstateOf(error) === null) throw error
    return erroneous({ check }, error, { over: 'mart', durationMs: 0 })
  } finally {
    await source.close()
  }
}

async function inSnapshot<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    return await work()
  } finally {
    await session.run('ROLLBACK')
  }
}

/** Null: there is no table of this name. A view could show any other table. */
async function tableOid(session: Session, { schema, table }: TableName): Promise<string | null> {
  const [row] = await session.rows(
    `SELECT c.oid::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`,
    [schema, table],
  )
  return row?.oid ?? null
}

async function columnsOf(session: Session, oid: string): Promise<{ name: string; type: string }[]> {
  return session.rows<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
      WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [oid],
  )
}

async function keyOf(session: Session, table: string, named: readonly string[]): Promise<readonly string[]> {
  if (named.length > 0) return named
  const rows = await session.rows<{ name: string }>(
    `SELECT a.attname AS name FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
       JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      WHERE i.indrelid = to_regclass($1) AND i.indisprimary ORDER BY k.n`,
    [table],
  )
  return rows.map(({ name }) => name)
}
