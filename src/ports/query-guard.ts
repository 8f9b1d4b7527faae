/** The session that a guard uses: of the login that will read the query, in the database where it is read. */
export interface GuardSession {
  run(text: string): Promise<void>
  rows<R extends Record<string, string | null>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/** What is known about a query besides its text. */
export interface QueryOrigin {
  /** The text is generated from the name of a table, so a position in it is meaningless. */
  readonly isDerived?: boolean
}

/** A query that may be run. */
export interface AcceptedQuery {
  /** The only text that may be run. */
  readonly canonical: string
  /** The tables that it reads, those behind views and partitions included. */
  readonly reached: readonly { readonly schema: string; readonly table: string }[]
}

/**
 * Decides whether a query may be run, and with which text. Called before each attempt, each preview and each
 * comparison.
 */
export interface QueryGuard {
  /**
   * The query as the server itself parses it: the only text that may be run, and only while the search_path is empty.
   * Throws SOURCE_REFUSED or SOURCE_QUERY_FAILED with the position in the author's text. Nothing is executed, and
   * nothing remains in the database.
   */
  textToRun(query: string, session: GuardSession, origin?: QueryOrigin): Promise<string>
  /** The same, with the tables that it reads. */
  accept(query: string, session: GuardSession, origin?: QueryOrigin): Promise<AcceptedQuery>
  /**
   * The same for a condition on columns: one expression without a query in it, which calls only what a source query may
   * call. Throws as `textToRun` does. Without a session only the text is checked.
   */
  requireExpression(
    expression: string,
    columns: readonly { readonly name: string; readonly type: string }[],
    session: GuardSession | null,
  ): Promise<void>
}
