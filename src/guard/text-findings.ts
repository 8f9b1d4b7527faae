import type { TableName } from '../sql/identifiers.js'

/** A finding of the walk, with its byte position in the text. */
export interface TextFinding {
  readonly message: string
  readonly hint: string
  readonly byte: number
}

export interface WalkRules {
  readonly sourceSchemas: readonly string[]
  /** A text written by the server: it names types where the author did not, and pg_depend is better at judging them. */
  readonly canonical: boolean
}

/** Collects the findings of a check. */
export interface TextFindings {
  readonly rules: WalkRules
  refuse(message: string, hint: string): void
  /** A table or view that the text names at this place. */
  names(relation: TableName): void
}
