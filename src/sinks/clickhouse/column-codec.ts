/** Converts values of one type to ClickHouse and back. */
export interface ColumnCodec {
  /** The ClickHouse type without Nullable. */
  readonly type: string
  /** False for arrays: ClickHouse has no NULL array. */
  readonly isNullable: boolean
  /** Quoted inside an array. */
  readonly isQuoted: boolean
  /** From PostgreSQL's text to TabSeparated. Throws ClickHouseValueError. */
  encode(text: string): string
  /** One text for equal values, the same as `canonicalSql` returns; used to compare. Never throws. */
  canonical(text: string): string
  canonicalSql(expression: string): string
  /** From the canonical text to PostgreSQL's. */
  decode(canonical: string): string
}
