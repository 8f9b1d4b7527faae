import type { Tree } from '../guard/index.js'
import type { BaseColumn, FlattenedColumn } from './alternative.js'
import { type Levels, resolveColumn } from './names.js'
import { lastNameOf, listOf, nodeOf } from './tree.js'

/** The base columns that an expression is the greatest of; null: it may exceed all of them. */
export function followsOf(value: unknown, levels: Levels): FlattenedColumn['follows'] {
  const { kind, node } = nodeOf(value)
  if (kind === 'ColumnRef') return resolveColumn(node, levels).follows
  if (kind === 'A_Const') return []
  const parts = partsOf(kind, node)
  if (parts === null) return null
  const followed = parts.map((part) => followsOf(part, levels))
  return followed.includes(null) ? null : (followed as (readonly BaseColumn[])[]).flat()
}

/** The operands of an expression whose value is one of theirs. */
function partsOf(kind: string, node: Tree): readonly unknown[] | null {
  if (kind === 'MinMaxExpr' || kind === 'CoalesceExpr') return listOf(node.args)
  const isMax = kind === 'FuncCall' && node.over === undefined && lastNameOf(node.funcname) === 'max'
  return isMax ? listOf(node.args) : null
}
