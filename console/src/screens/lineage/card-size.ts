import type { LineageColumn, LineageNode } from '../../api/wire.js'
import { type ColumnPath, keyOf } from './graph-facts.js'

/** In pixels; lineage.module.css has the same numbers. */
export const CARD_WIDTH = 236
const HEAD = 58
const STALE = 22
const ROW = 24
const ROWS_TOP = 6
const FEW = 8

/** The visible part of a node. */
export interface Card {
  readonly node: LineageNode
  readonly columns: readonly LineageColumn[]
  /** Number of hidden columns. */
  readonly hidden: number
  readonly isExpanded: boolean
  readonly hasStaleInputs: boolean
  readonly height: number
}

interface Shown {
  readonly path: ColumnPath | null
  readonly expanded: ReadonlySet<string>
  readonly hasStaleInputs: boolean
}

/** The first columns, and every column on the selected path. */
export function cardOf(node: LineageNode, { path, expanded, hasStaleInputs }: Shown): Card {
  const all = node.columns ?? []
  const isExpanded = expanded.has(node.id)
  const columns = all.filter(
    ({ name }, n) => isExpanded || n < FEW || path?.keys.has(keyOf({ node: node.id, column: name })),
  )
  const rows = columns.length + (all.length > FEW ? 1 : 0)
  return {
    node,
    columns,
    hidden: all.length - columns.length,
    isExpanded: isExpanded && all.length > FEW,
    hasStaleInputs,
    height: headHeight(hasStaleInputs) + (rows === 0 ? 0 : ROWS_TOP + rows * ROW + 4),
  }
}

function headHeight(hasStaleInputs: boolean): number {
  return HEAD + (hasStaleInputs ? STALE : 0)
}

/** The centre of the row of a column, from the top of its card; of the card itself if the column is hidden. */
export function rowMiddle({ columns, hasStaleInputs, height }: Card, name: string): number {
  const at = columns.findIndex((column) => column.name === name)
  return at < 0 ? height / 2 : headHeight(hasStaleInputs) + ROWS_TOP + at * ROW + ROW / 2
}
