import type { AcceptedQuery, GuardSession, QueryGuard, QueryOrigin } from '../ports/query-guard.js'
import { expressionProblem, expressionQuery } from './expression-problem.js'
import { KeptVerdicts } from './kept-verdicts.js'
import { checkQueryText } from './parse.js'
import type { ClosableGuardSession } from './reach.js'
import { rejectionError } from './rejection-error.js'
import { readByServer } from './server.js'
import type { GuardRules, Rejection, ServerAccepted, TextAccepted } from './verdict.js'

export { AGGREGATES } from './functions.js'
export { parseSql, type Tree } from './parser.js'
export type { ClosableGuardSession } from './reach.js'
export { rejectionError } from './rejection-error.js'
export { listOf, namesOf, nodeOf } from './tree.js'
export type { GuardRules, Rejection, ServerAccepted, TextAccepted } from './verdict.js'

/**
 * Decides whether a query may be run. Two layers check the text; the third is how it is run: only `canonical`, in a
 * session with search_path = '' and time-outs, as a login with few privileges, and read-only wherever nothing is written
 * in the same statement (docs/adr/0014).
 */
export class SqlGuard implements QueryGuard {
  readonly #rules: GuardRules
  readonly #kept = new KeptVerdicts()

  constructor(rules: GuardRules) {
    this.#rules = rules
  }

  /** Checks the text alone. */
  check(sql: string): Promise<TextAccepted | Rejection>
  /** Checks the text and then asks the server. Opens the session only for a text that passed, and always closes it. */
  check(sql: string, open: () => Promise<ClosableGuardSession>): Promise<ServerAccepted | Rejection>
  async check(
    sql: string,
    open?: () => Promise<ClosableGuardSession>,
  ): Promise<TextAccepted | ServerAccepted | Rejection> {
    const verdict = await checkQueryText(sql, this.#rules)
    if (!verdict.ok || open === undefined) return verdict
    const session = await open()
    try {
      const kept = await this.#kept.find(sql, session)
      if (kept !== null) return kept
      const question = { sql, rules: this.#rules, relations: verdict.relations }
      const asked = await readByServer(session, question)
      if (asked.ok) this.#kept.keep(sql, asked)
      return asked
    } finally {
      await session.close()
    }
  }

  /** The same two layers for a caller that runs the query in this session, which stays open. */
  async textToRun(sql: string, session: GuardSession, origin: QueryOrigin = {}): Promise<string> {
    return (await this.accept(sql, session, origin)).canonical
  }

  async accept(sql: string, session: GuardSession, origin: QueryOrigin = {}): Promise<AcceptedQuery> {
    const verdict = await this.check(sql, async () => ({
      run: (text) => session.run(text),
      rows: (text, values) => session.rows(text, values),
      close: async () => {},
    }))
    if (!verdict.ok) throw rejectionError(verdict, origin)
    return verdict
  }

  async requireExpression(
    expression: string,
    columns: readonly { readonly name: string; readonly type: string }[],
    session: GuardSession | null,
  ): Promise<void> {
    const problem = await expressionProblem(expression)
    if (problem !== null) throw rejectionError({ ok: false, problems: [problem] }, { isDerived: true })
    const query = expressionQuery(expression, columns)
    if (session !== null) return void (await this.textToRun(query, session, { isDerived: true }))
    const verdict = await this.check(query)
    if (!verdict.ok) throw rejectionError(verdict, { isDerived: true })
  }
}
