/** A server that this process can reach, and whether it responded. Never contains a secret. */
export interface ConnectionReport {
  /** `main`, the name of another database, or the kind of a sink. */
  readonly name: string
  /** postgresql, elasticsearch, clickhouse, s3. */
  readonly kind: string
  /** Host and database, for people; null: unknown here. */
  readonly address: string | null
  /** The login used for the test. */
  readonly logins: readonly string[]
  readonly state: 'reachable' | 'unreachable' | 'not_configured'
  /** The product and version that the server reports. */
  readonly version: string | null
  /** Time until its first response, including connecting. */
  readonly latencyMs: number | null
  /** The result, or what is missing. */
  readonly detail: string | null
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null
  /** What pipelines may read and write there, and the setting that restricts it. */
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
