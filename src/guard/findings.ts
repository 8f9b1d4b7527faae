import type { TableName } from '../sql/identifiers.js'

/** What the walk found, with its place in bytes of the text. */
export interface Finding {
  readonly message: string
  readonly hint: string
  readonly byte: number
}

export interface WalkRules {
  readonly sourceSchemas: readonly string[]
  /** A text that the server wrote: it names types where the author did not, and pg_depend judges them better. */
  readonly canonical: boolean
}

/** Where a check leaves what it found. */
export interface Findings {
  readonly rules: WalkRules
  refuse(message: string, hint: string): void
  /** A table or view that the text names, here. */
  names(relation: TableName): void
}
