import { type CheckRules, checkMart, compileChecks, erroneous, type MartCheck } from '../checks/index.js'
import type { Check, CheckResult } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import { isAllowedTable } from '../model/target.js'
import type { Session } from '../postgres/session.js'
import { requireStoredInTargets } from '../sinks/postgres/stored-elsewhere.js'
import { parseTable, quoteTable, type TableName } from '../sql/identifiers.js'

/** As long as a user waits for a check of a large mart. */
const STATEMENT_TIMEOUT = '60s'

interface Evaluation {
  readonly pipeline: Pipeline
  readonly rules: CheckRules
  readonly usual: (check: string) => Promise<readonly number[]>
}

/** Evaluates every check of a pipeline over the rows that its mart has now. Nothing is changed. */
export async function evaluateChecks(session: Session, evaluation: Evaluation): Promise<CheckResult[]> {
  const { pipeline, rules, usual } = evaluation
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
  const results: CheckResult[] = []
  await session.run(`SET statement_timeout = '${STATEMENT_TIMEOUT}'`)
  for (const check of pipeline.checks) {
    const compiled = await compiledFor(session, check, { columns, rules })
    results.push(...('status' in compiled ? [compiled] : await evaluated(mart, compiled)))
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

async function compiledFor(
  session: Session,
  check: Check,
  { columns, rules }: { columns: Parameters<typeof compileChecks>[1]['columns']; rules: CheckRules },
): Promise<MartCheck | CheckResult> {
  try {
    const { rows, mart } = await compileChecks(session, { checks: [check], columns }, rules)
    return mart[0] ?? { ...rows[0]!, isAggregate: false }
  } catch (error) {
    if (!(error instanceof VitrinaError) || error.code !== 'CHECK_INVALID') throw error
    return erroneous({ check }, new Error(error.message.slice(0, -1)), { over: 'mart', durationMs: 0 })
  }
}

async function evaluated(mart: Parameters<typeof checkMart>[0], check: MartCheck): Promise<CheckResult[]> {
  await mart.session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    const results = await checkMart(mart, [check])
    // The rows are in the mart: none was set aside.
    return results.map((result) =>
      result.status === 'quarantined' ? { ...result, status: 'failed' } : result,
    )
  } finally {
    await mart.session.run('ROLLBACK')
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
