import { quoteIdentifier } from '../sql/identifiers.js'
import { parseSql, type Tree } from './parser.js'
import type { QueryProblem } from './verdict.js'

interface ExpressionColumn {
  readonly name: string
  readonly type: string
}

/**
 * Why a text is not one expression without a query; null: it is. The text will be put between parentheses, so it must be
 * complete there: nothing in it may close them, and nothing may follow.
 */
export async function expressionProblem(expression: string): Promise<QueryProblem | null> {
  const parsed = await parseSql(`SELECT (\n${expression}\n)`)
  if (parsed.kind === 'syntax')
    return refusal(
      `The expression has a syntax error: ${parsed.message}.`,
      'Write a condition such as rating <= 10.',
    )
  if (parsed.kind !== 'tree')
    return refusal('The expression is nested too deeply.', 'Split it into several checks.')
  const select = (parsed.statements[0]?.stmt as Tree | undefined)?.SelectStmt as Tree | undefined
  const isSingle = parsed.statements.length === 1 && select !== undefined && isOneValue(select)
  if (!isSingle || !(await isCompleteAlone(expression)))
    return refusal('The text is not a single expression.', 'Write a condition such as rating <= 10.')
  if (contains(select, 'SubLink'))
    return refusal(
      'The expression contains a query.',
      'Use only columns of the row. For rows of another table, use a check of the type relationship.',
    )
  return null
}

/** `a) OR (b` is complete between parentheses and closes them: next to other conditions it would change their meaning. */
async function isCompleteAlone(expression: string): Promise<boolean> {
  const alone = await parseSql(`SELECT\n${expression}\n`)
  return alone.kind === 'tree'
}

/** The expression as the only column of a query over one row of NULLs, for the guard and the server. */
export function expressionQuery(expression: string, columns: readonly ExpressionColumn[]): string {
  const nulls = columns
    .filter(({ name }) => mentions(expression, name))
    .map(({ name, type }) => `NULL::${type} AS ${quoteIdentifier(name)}`)
  return `SELECT (\n${expression}\n) AS passes FROM (SELECT ${['NULL', ...nulls].join(', ')}) AS batch`
}

/** A column with a user-defined type must not prevent an expression that does not use it. */
function mentions(expression: string, name: string): boolean {
  return /U&/i.test(expression) || expression.toLowerCase().includes(name.replaceAll('"', '""').toLowerCase())
}

function isOneValue({ targetList, ...clauses }: Tree): boolean {
  const rest = Object.keys(clauses).filter((key) => key !== 'limitOption' && key !== 'op')
  const isPlain = clauses.op === undefined || clauses.op === 'SETOP_NONE'
  const list = targetList as { ResTarget?: { name?: string } }[] | undefined
  return rest.length === 0 && isPlain && list?.length === 1 && list[0]?.ResTarget?.name === undefined
}

function contains(tree: unknown, node: string): boolean {
  if (typeof tree !== 'object' || tree === null) return false
  return Object.entries(tree).some(([key, value]) => key === node || contains(value, node))
}

function refusal(message: string, hint: string): QueryProblem {
  return { code: 'SOURCE_REFUSED', message, hint, position: null }
}
