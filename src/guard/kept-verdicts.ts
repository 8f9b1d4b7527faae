import type { GuardSession } from '../ports/query-guard.js'
import { isUnchanged } from '../postgres/catalog-mark.js'
import type { ServerAccepted } from './verdict.js'

/** Enough for a hundred pipelines with long queries. */
const MOST_CHARACTERS = 2_000_000
/** The same text may be checked in several databases. */
const MOST_FOR_A_TEXT = 4

/**
 * Verdicts of servers, each valid while the catalogs behind it are unchanged. A check makes a temporary view, and its
 * rows in pg_class, pg_attribute and pg_depend bloat the source until a vacuum: 1,500 columns are 700 kB. A pipeline
 * that runs every minute is checked once (docs/adr/0039).
 */
export class KeptVerdicts {
  readonly #most: number
  /** In order of last use: a Map keeps the insertion order. */
  readonly #kept = new Map<string, readonly ServerAccepted[]>()
  #characters = 0

  constructor(most = MOST_CHARACTERS) {
    this.#most = most
  }

  /** The verdict that this session's server would give; null: a new check is needed. */
  async find(sql: string, session: GuardSession): Promise<ServerAccepted | null> {
    for (const verdict of this.#kept.get(sql) ?? []) {
      if (verdict.mark === null || !(await isUnchanged(session, verdict.mark))) continue
      this.#put(sql, this.#take(sql))
      return verdict
    }
    return null
  }

  keep(sql: string, verdict: ServerAccepted): void {
    if (verdict.mark === null) return
    this.#put(sql, [verdict, ...this.#take(sql)].slice(0, MOST_FOR_A_TEXT))
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= this.#most) return
      this.#take(oldest)
    }
  }

  #take(sql: string): readonly ServerAccepted[] {
    const verdicts = this.#kept.get(sql) ?? []
    this.#kept.delete(sql)
    this.#characters -= sizeOf(sql, verdicts)
    return verdicts
  }

  #put(sql: string, verdicts: readonly ServerAccepted[]): void {
    if (verdicts.length === 0) return
    this.#kept.set(sql, verdicts)
    this.#characters += sizeOf(sql, verdicts)
  }
}

function sizeOf(sql: string, verdicts: readonly ServerAccepted[]): number {
  const size = ({ canonical, columns }: ServerAccepted) => canonical.length + columns.length * 100
  return verdicts.reduce((sum, verdict) => sum + sql.length + size(verdict), 0)
}
