import { type CheckedColumn, type CheckRules, compileChecks, refusedTable } from '../checks/index.js'
import type { Check } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import type { Finding } from '../model/validation.js'
import type { QueryGuard } from '../ports/query-guard.js'
import type { Session } from '../postgres/session.js'
import { isNotPermitted } from './evaluate-checks.js'

interface Checked {
  readonly checks: readonly Check[]
  readonly columns: readonly CheckedColumn[]
  /** Opens a session of the login that may read sources, if `session` may not. */
  readonly openReader: (() => Promise<Session>) | null
}

/** What is wrong with the checks of a pipeline, each with its place. */
export async function checkFindings(
  session: Session,
  { checks, columns, openReader }: Checked,
  rules: CheckRules,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [place, check] of checks.entries()) {
    const refused = tableFinding(check, place, rules)
    if (refused !== null) {
      findings.push(refused)
      continue
    }
    const compile = (by: Session) => compileChecks(by, { checks: [check], columns }, rules)
    const error = await problemOf(() => compile(session))
    const problem = error !== null && isNotPermitted(error) ? await asReader(compile, openReader) : error
    if (problem === null) continue
    const { code, message, hint } = problem
    findings.push({ code, message, hint, field: `checks.${place}`, position: null })
  }
  return findings
}

/** The login that inspects marts may not read sources. What neither may read, the runner may. */
async function asReader(
  compile: (session: Session) => Promise<unknown>,
  openReader: Checked['openReader'],
): Promise<VitrinaError | null> {
  if (openReader === null) return null
  const reader = await openReader()
  try {
    const error = await problemOf(() => compile(reader))
    return error !== null && isNotPermitted(error) ? null : error
  } finally {
    await reader.close()
  }
}

async function problemOf(compile: () => Promise<unknown>): Promise<VitrinaError | null> {
  try {
    await compile()
    return null
  } catch (error) {
    if (!(error instanceof VitrinaError) || error.code !== 'CHECK_INVALID') throw error
    return error
  }
}

/** Why a check may not read its other table, as for a table in a query. */
function tableFinding(check: Check, place: number, rules: CheckRules): Finding | null {
  const refused = refusedTable(check, rules)
  if (refused === null) return null
  const { message, hint } = refused
  return { code: 'SOURCE_REFUSED', message, hint, field: `checks.${place}.to`, position: null }
}

/** What the names of tables and the text of expressions show, without a server. */
export async function textFindings(checks: readonly Check[], rules: CheckRules): Promise<Finding[]> {
  const tables = checks.map((check, place) => tableFinding(check, place, rules))
  return [...tables.filter((finding) => finding !== null), ...(await expressionFindings(rules.guard, checks))]
}

async function expressionFindings(guard: QueryGuard, checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [place, check] of checks.entries()) {
    if (check.type !== 'expression') continue
    const field = `checks.${place}.sql`
    await guard.requireExpression(check.sql, [], null).catch((error: unknown) => {
      if (!(error instanceof VitrinaError) || error.class !== 'stop') throw error
      const { message, hint } = error
      findings.push({ code: 'CHECK_INVALID', message, hint, field, position: null })
    })
  }
  return findings
}
