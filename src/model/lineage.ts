/**
 * How a column came about. `direct`: a column of a source as it is. `expression`: computed of one row. `aggregate`:
 * computed of several rows. `constant`: of no column at all. `transform`: kept its name through registered functions,
 * which may have changed its value. `opaque`: made by a registered function, of what is not known. `unresolved`: not
 * known, with the reason.
 */
export const COLUMN_KINDS = [
  'direct',
  'expression',
  'aggregate',
  'constant',
  'transform',
  'opaque',
  'unresolved',
] as const
export type ColumnKind = (typeof COLUMN_KINDS)[number]

export interface SourceColumn {
  readonly schema: string
  readonly table: string
  readonly column: string
}

/** A column that a query gives, and where its values come from. */
export interface ColumnLineage {
  readonly name: string
  readonly kind: ColumnKind
  /** Every column whose value goes into it; not complete when it is unresolved. */
  readonly sources: readonly SourceColumn[]
  /** How it is computed, with the names of the sources in it; null: taken as it is. */
  readonly expression: string | null
  /** Why it is unresolved. */
  readonly reason: string | null
}

/** What a column does besides giving values: it decides which rows there are, and in what order. */
export const COLUMN_USES = ['join', 'filter', 'group', 'sort'] as const
export type ColumnUse = (typeof COLUMN_USES)[number]

export interface ShapingColumn extends SourceColumn {
  readonly uses: readonly ColumnUse[]
}

/** What a text says about where its columns come from. */
export interface QueryLineage {
  readonly columns: readonly ColumnLineage[]
  /** Why there may be more columns than those listed; null: these are all. */
  readonly open: string | null
  readonly shaping: readonly ShapingColumn[]
}
