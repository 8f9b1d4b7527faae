/** The session that a judge asks: of the login that is going to read the query, in the database where it is read. */
export interface JudgeSession {
  run(text: string): Promise<void>
  rows<R extends Record<string, string | null>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

/** What is known of a text besides itself. */
export interface JudgeManner {
  /** Nobody wrote it, so that a place in it says nothing: it was made from the name of a table. */
  readonly isDerived?: boolean
}

/** Decides whether a query may be run, and as what text. Asked before each attempt, each preview and each comparison. */
export interface QueryJudge {
  /**
   * The query as the server itself reads it: the only text that may be run, and only while the search_path is empty.
   * Throws SOURCE_REFUSED or SOURCE_QUERY_FAILED with the place in the author's text. Nothing is executed, and nothing
   * stays in the database.
   */
  textToRun(query: string, session: JudgeSession, manner?: JudgeManner): Promise<string>
}
