/** A server that this process can speak to, and whether it answered. Never holds a secret. */
export interface ConnectionReport {
  /** `main`, the name of a further database, or the kind of a sink. */
  readonly name: string
  /** postgresql, elasticsearch, clickhouse, s3. */
  readonly kind: string
  /** Host and database, for people; null: not known here. */
  readonly address: string | null
  /** Whom it was tried as. */
  readonly logins: readonly string[]
  readonly state: 'reachable' | 'unreachable' | 'not_configured'
  /** What the server says it is. */
  readonly version: string | null
  /** Until its first answer, connecting included. */
  readonly latencyMs: number | null
  /** What it said, or what is missing. */
  readonly detail: string | null
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null
  /** What pipelines may read and write there, and the setting that says so. */
  readonly allowLists: readonly { readonly setting: string; readonly names: readonly string[] }[]
}

/** Where one pipeline reads and writes. */
export interface ConnectionUse {
  readonly id: string
  readonly name: string
  /** Null: the main database. */
  readonly sourceConnection: string | null
  readonly targetConnection: string | null
  readonly target: string
}

export const MAIN_CONNECTION = 'main'
