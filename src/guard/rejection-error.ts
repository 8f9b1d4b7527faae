import { VitrinaError } from '../model/errors.js'
import type { QueryOrigin } from '../ports/query-guard.js'
import type { QueryProblem, Rejection } from './verdict.js'

/** More than a user corrects at a time. */
const MOST_SHOWN = 3

/** A rejection as one error, where a list cannot be shown: positions come first, as in the API. */
export function rejectionError(
  { problems }: Rejection,
  { isDerived = false }: QueryOrigin = {},
): VitrinaError {
  const { code, hint } = problems[0]!
  const shown = problems
    .slice(0, MOST_SHOWN)
    .map((problem) => (isDerived ? problem.message : textOf(problem)))
  const rest = problems.length - shown.length
  return new VitrinaError(code, [...shown, ...(rest > 0 ? [`And ${rest} more.`] : [])].join(' '), hint)
}

function textOf({ message, position }: QueryProblem): string {
  return position === null ? message : `line ${position.line}, column ${position.column}: ${message}`
}
