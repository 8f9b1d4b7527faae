import { type CheckedColumn, type CheckRules, compileChecks } from '../checks/index.js'
import type { Check } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import type { Finding } from '../model/validation.js'
import type { QueryGuard } from '../ports/query-guard.js'
import type { Session } from '../postgres/session.js'
import { sqlstateOf } from '../sql/sqlstate.js'

interface Checked {
  readonly checks: readonly Check[]
  readonly columns: readonly CheckedColumn[]
}

/** What is wrong with the checks of a pipeline, each with its place. */
export async function checkFindings(
  session: Session,
  { checks, columns }: Checked,
  rules: CheckRules,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [place, check] of checks.entries()) {
    const problem = await problemOf(() => compileChecks(session, { checks: [check], columns }, rules))
    if (problem !== null) findings.push({ ...problem, field: `checks.${place}`, position: null })
  }
  return findings
}

const NOT_PERMITTED = '42501'

async function problemOf(
  compile: () => Promise<unknown>,
): Promise<Pick<Finding, 'code' | 'message' | 'hint'> | null> {
  try {
    await compile()
    return null
  } catch (error) {
    if (!(error instanceof VitrinaError) || error.code !== 'CHECK_INVALID') throw error
    // The login that inspects marts may not read sources; the runner may.
    if (sqlstateOf(error.cause) === NOT_PERMITTED) return null
    const { code, message, hint } = error
    return { code, message, hint }
  }
}

/** What the text of expressions shows, without a server. */
export async function expressionFindings(guard: QueryGuard, checks: readonly Check[]): Promise<Finding[]> {
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
