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

/** What stands in the graph: tables and views of PostgreSQL, marts of other sinks, and the pipelines between them. */
export const NODE_KINDS = ['table', 'view', 'sink', 'pipeline'] as const
export type NodeKind = (typeof NODE_KINDS)[number]

/** A column of a node of the graph. */
export interface NodeColumnRef {
  readonly node: string
  readonly column: string
}

export interface NodeColumn {
  readonly name: string
  /** As PostgreSQL writes it; null: not known. */
  readonly type: string | null
  /** Null: a column of a source, which nothing here computes. */
  readonly kind: ColumnKind | null
  readonly sources: readonly NodeColumnRef[]
  readonly expression: string | null
  /** The registered functions that it went through. */
  readonly through: readonly string[]
  readonly reason: string | null
}

/** Why something could not be looked at. */
export interface LineageProblem {
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Only pipelines and views have one: what they compute, and by what. */
export interface NodeColumns {
  readonly columns: readonly NodeColumn[]
  /** Why there may be more columns; null: these are all. */
  readonly open: string | null
  readonly shaping: readonly (NodeColumnRef & { readonly uses: readonly ColumnUse[] })[]
}

export interface LineageNode {
  /** `content.film_work`, `content.film_work@warehouse`, `es:films`, `pipeline:<id>`. */
  readonly id: string
  readonly kind: NodeKind
  readonly name: string
  /** The database it lies in; null: the main one, or none. */
  readonly connection: string | null
  /** Of a pipeline. */
  readonly pipelineId: string | null
  /** Null: nobody could look. */
  readonly exists: boolean | null
  /** Why the query of a pipeline cannot be followed. */
  readonly error: LineageProblem | null
}

/** A node as an answer shows it: with how much of its neighbourhood is left out. */
export interface ShownNode extends LineageNode {
  readonly hiddenUp: number
  readonly hiddenDown: number
  /** Null at the level of tables. */
  readonly columns: NodeColumns | null
}

export interface LineageEdge {
  readonly from: string
  readonly to: string
}

export interface LineageGraph {
  /** The id that was asked for, as the graph writes it. */
  readonly focus: string | null
  readonly level: 'table' | 'column'
  readonly nodes: readonly ShownNode[]
  readonly edges: readonly LineageEdge[]
  /** How many there are in all. */
  readonly totalNodes: number
  /** Databases that could not be asked. */
  readonly problems: readonly (LineageProblem & { readonly connection: string | null })[]
}

/** One pipeline, with what its columns come from beneath the views that its query names. */
export interface PipelineLineage {
  readonly pipelineId: string
  readonly name: string
  readonly target: string
  /** What the query names, and what the views among it lead to. */
  readonly reads: readonly { readonly node: string; readonly kind: NodeKind; readonly via: string | null }[]
  readonly error: LineageProblem | null
  readonly open: string | null
  /** `base` is null where a view cannot be followed. */
  readonly columns: readonly (NodeColumn & { readonly base: readonly NodeColumnRef[] | null })[]
  readonly shaping: NodeColumns['shaping']
  readonly problems: LineageGraph['problems']
}
