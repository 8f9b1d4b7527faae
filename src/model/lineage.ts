/**
 * How a column is derived. `direct`: a copied column of a source. `expression`: computed from one row. `aggregate`:
 * computed from several rows. `constant`: from no column. `transform`: keeps its name through registered functions,
 * which may change its value. `opaque`: created by a registered function from unknown columns. `unresolved`: unknown,
 * with the reason.
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

/** A column of a query, and where its values come from. */
export interface ColumnLineage {
  readonly name: string
  readonly kind: ColumnKind
  /** Every column that contributes to its value; incomplete if it is unresolved. */
  readonly sources: readonly SourceColumn[]
  /** How it is computed, with the names of the sources; null: copied. */
  readonly expression: string | null
  /** Why it is unresolved. */
  readonly reason: string | null
}

/** What a column does besides providing values: it determines the rows or their order. */
export const COLUMN_USES = ['join', 'filter', 'group', 'sort'] as const
export type ColumnUse = (typeof COLUMN_USES)[number]

export interface ShapingColumn extends SourceColumn {
  readonly uses: readonly ColumnUse[]
}

/** What a query says about the origin of its columns. */
export interface QueryLineage {
  readonly columns: readonly ColumnLineage[]
  /** Why there may be more columns than listed; null: the list is complete. */
  readonly open: string | null
  readonly shaping: readonly ShapingColumn[]
}

/** The nodes of the graph: tables and views of PostgreSQL, marts of other sinks, and the pipelines between them. */
export const NODE_KINDS = ['table', 'view', 'sink', 'pipeline'] as const
export type NodeKind = (typeof NODE_KINDS)[number]

/** A column of a node of the graph. */
export interface NodeColumnRef {
  readonly node: string
  readonly column: string
}

export interface NodeColumn {
  readonly name: string
  /** The PostgreSQL type; null: unknown. */
  readonly type: string | null
  /** Null: a column of a source, which is not computed here. */
  readonly kind: ColumnKind | null
  readonly sources: readonly NodeColumnRef[]
  readonly expression: string | null
  /** The registered functions it passes through. */
  readonly through: readonly string[]
  readonly reason: string | null
}

/** Why something could not be inspected. */
export interface LineageProblem {
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Only pipelines and views have one: what they compute, and how. */
export interface NodeColumns {
  readonly columns: readonly NodeColumn[]
  /** Why there may be more columns; null: the list is complete. */
  readonly open: string | null
  readonly shaping: readonly (NodeColumnRef & { readonly uses: readonly ColumnUse[] })[]
}

export interface LineageNode {
  /** `content.film_work`, `content.film_work@warehouse`, `es:films`, `pipeline:<id>`. */
  readonly id: string
  readonly kind: NodeKind
  readonly name: string
  /** Its database; null: the main one, or none. */
  readonly connection: string | null
  /** Of a pipeline. */
  readonly pipelineId: string | null
  /** Null: could not be checked. */
  readonly exists: boolean | null
  /** Why the query of a pipeline cannot be analyzed. */
  readonly error: LineageProblem | null
}

/** A node in a response, with the number of neighbours that are left out. */
export interface ShownNode extends LineageNode {
  readonly hiddenUp: number
  readonly hiddenDown: number
  /** Null at the table level. */
  readonly columns: NodeColumns | null
}

export interface LineageEdge {
  readonly from: string
  readonly to: string
}

export interface LineageGraph {
  /** The requested id, in the format of the graph. */
  readonly focus: string | null
  readonly level: 'table' | 'column'
  readonly nodes: readonly ShownNode[]
  readonly edges: readonly LineageEdge[]
  /** The total number. */
  readonly totalNodes: number
  /** Databases that could not be queried. */
  readonly problems: readonly (LineageProblem & { readonly connection: string | null })[]
}

/** One pipeline, with the sources of its columns beneath the views of its query. */
export interface PipelineLineage {
  readonly pipelineId: string
  readonly name: string
  readonly target: string
  /** What the query names, and what its views lead to. */
  readonly reads: readonly { readonly node: string; readonly kind: NodeKind; readonly via: string | null }[]
  readonly error: LineageProblem | null
  readonly open: string | null
  /** `base` is null if a view cannot be analyzed. */
  readonly columns: readonly (NodeColumn & { readonly base: readonly NodeColumnRef[] | null })[]
  readonly shaping: NodeColumns['shaping']
  readonly problems: LineageGraph['problems']
}
