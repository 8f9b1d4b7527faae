/** A value that its column in ClickHouse cannot hold; the message says why. */
export class UnfitValue extends Error {}

/** How the values of one type get into ClickHouse and back. */
export interface Codec {
  /** In ClickHouse, without Nullable. */
  readonly type: string
  /** An array cannot be NULL there. */
  readonly isNullable: boolean
  /** Stands in quotes inside an array. */
  readonly isQuoted: boolean
  /** From PostgreSQL's text to what TabSeparated wants. Throws UnfitValue. */
  encode(text: string): string
  /** One text for each value, the same here and in `canonicalSql`; for comparing. Never throws. */
  canonical(text: string): string
  canonicalSql(expression: string): string
  /** From the canonical text to PostgreSQL's. */
  decode(canonical: string): string
}
