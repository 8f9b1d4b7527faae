import type { ErrorCode } from '../model/errors.js'
import type { TableName } from '../sql/identifiers.js'
import type { Position } from './position.js'

export interface GuardRules {
  /** ALLOWED_SOURCE_SCHEMAS: what a source query may read. */
  readonly sourceSchemas: readonly string[]
}

/** One reason why a query may not be run, for the person who wrote it. */
export interface Problem {
  readonly code: Extract<ErrorCode, 'SOURCE_REFUSED' | 'SOURCE_QUERY_FAILED'>
  readonly message: string
  readonly hint: string
  /** Where the server refused the query. */
  readonly sqlstate?: string
  /** It may come right without another text: a table that is not there yet. */
  readonly mayPass?: boolean
  /** In the text as it was written; null when the reason lies outside of it, for example inside a view. */
  readonly position: Position | null
}

export interface Refusal {
  readonly ok: false
  readonly problems: readonly Problem[]
}

export interface NamedRelation extends TableName {
  readonly position: Position
}

/** What the text alone says. */
export interface TextAccepted {
  readonly ok: true
  /** Every table or view it names, once each, in the order of the text. */
  readonly relations: readonly NamedRelation[]
}

export type Verdict = TextAccepted | Refusal

/** A column of the query, with its type as the server writes it, schema included. */
export interface GuardColumn {
  readonly name: string
  readonly type: string
  readonly typeOid: number
}

/** What the catalogs say about everything a verdict rests on, as a digest. Reading it writes nothing. */
export interface CatalogMark {
  readonly relations: readonly string[]
  readonly types: readonly string[]
  readonly digest: string
}

/** What the server says, too. */
export interface ServerAccepted extends TextAccepted {
  /** The query as the server reads it, without a semicolon: the only text that may be run, with search_path = ''. */
  readonly canonical: string
  readonly columns: readonly GuardColumn[]
  /** Also what views and partitions lead to. */
  readonly reached: readonly TableName[]
  /** By which it is seen whether the verdict still holds; null: it cannot be seen. */
  readonly mark: CatalogMark | null
}

export type ServerVerdict = ServerAccepted | Refusal

export function refused(...problems: readonly Problem[]): Refusal {
  return { ok: false, problems }
}
