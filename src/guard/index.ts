import { checkText } from './parse.js'
import type { GuardSession } from './reach.js'
import { readByServer } from './server.js'
import type { GuardRules, Refusal, ServerAccepted, TextAccepted } from './verdict.js'

export { KeptSessions } from './kept-sessions.js'
export type { GuardSession } from './reach.js'
export type { GuardRules, Refusal, ServerAccepted, TextAccepted } from './verdict.js'

/**
 * Whether a query may be run. Two layers judge the text; the third is how it is run: only `canonical`, prepared, in a
 * REPEATABLE READ READ ONLY transaction with search_path = '' and time-outs, as a login that may read these schemas only.
 */
export class SqlGuard {
  readonly #rules: GuardRules

  constructor(rules: GuardRules) {
    this.#rules = rules
  }

  /** By the text alone. */
  check(sql: string): Promise<TextAccepted | Refusal>
  /** By the text and then by the server. The session is opened for a text that passed, and closed in any case. */
  check(sql: string, open: () => Promise<GuardSession>): Promise<ServerAccepted | Refusal>
  async check(
    sql: string,
    open?: () => Promise<GuardSession>,
  ): Promise<TextAccepted | ServerAccepted | Refusal> {
    const verdict = await checkText(sql, this.#rules)
    if (!verdict.ok || open === undefined) return verdict
    const session = await open()
    try {
      return await readByServer(session, { sql, rules: this.#rules, relations: verdict.relations })
    } finally {
      await session.close()
    }
  }
}
