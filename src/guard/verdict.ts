import type { ErrorCode } from '../model/errors.js'
import type { CatalogMark } from '../postgres/catalog-mark.js'
import type { TableName } from '../sql/identifiers.js'
import type { TextPosition } from './position.js'

export interface GuardRules {
  /** ALLOWED_SOURCE_SCHEMAS: what a source query may read. */
  readonly sourceSchemas: readonly string[]
}

/** One reason why a query may not be run, for its author. */
export interface QueryProblem {
  readonly code: Extract<ErrorCode, 'SOURCE_REFUSED' | 'SOURCE_QUERY_FAILED'>
  readonly message: string
  readonly hint: string
  /** Set if the server rejected the query. */
  readonly sqlstate?: string
  /** The query may become valid without a change: a table does not exist yet. */
  readonly mayPass?: boolean
  /** Position in the original text; null when the reason is elsewhere, for example inside a view. */
  readonly position: TextPosition | null
}

export interface Rejection {
  readonly ok: false
  readonly problems: readonly QueryProblem[]
}

export interface NamedRelation extends TableName {
  readonly position: TextPosition
}

/** The result of checking the text alone. */
export interface TextAccepted {
  readonly ok: true
  /** Every table or view it names, once each, in the order of the text. */
  readonly relations: readonly NamedRelation[]
}

export type Verdict = TextAccepted | Rejection

/** A column of the query, with its type as the server writes it, schema included. */
export interface GuardColumn {
  readonly name: string
  readonly type: string
  readonly typeOid: number
}

/** The result that includes the server's check. */
export interface ServerAccepted extends TextAccepted {
  /** The query as the server reads it, without a semicolon: the only text that may be run, with search_path = ''. */
  readonly canonical: string
  readonly columns: readonly GuardColumn[]
  /** Includes the tables behind views and partitions. */
  readonly reached: readonly TableName[]
  /** Shows whether the verdict is still valid; null: that cannot be determined. */
  readonly mark: CatalogMark | null
}

export type ServerVerdict = ServerAccepted | Rejection

export function refused(...problems: readonly QueryProblem[]): Rejection {
  return { ok: false, problems }
}
