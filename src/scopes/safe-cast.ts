import type { Tree } from '../guard/index.js'
import type { BaseExpression } from './alternative.js'
import { lastNameOf, listOf, nodeOf } from './tree.js'

/** Casts between numbers that have a result for every value, by the type as format_type writes it. */
const WIDENING: Readonly<Record<string, readonly string[]>> = {
  smallint: ['int4', 'int8', 'numeric', 'float4', 'float8'],
  integer: ['int8', 'numeric', 'float4', 'float8'],
  bigint: ['numeric', 'float4', 'float8'],
  real: ['float8'],
}
/** Every type has a text. */
const TEXT: ReadonlySet<string> = new Set(['text', 'varchar'])

/**
 * Whether the casts of a base column cannot fail. A key query has no filters: it casts values of rows that the query
 * would have left out before the cast.
 */
export function isSafeCast({ node }: BaseExpression, type: string): boolean {
  const casts = castsOf(node)
  return casts.every((cast, place) => {
    const name = lastNameOf(cast.names)
    if (listOf(cast.typmods).length > 0 || listOf(cast.arrayBounds).length > 0) return false
    return TEXT.has(name) || (place === 0 && (WIDENING[type] ?? []).includes(name))
  })
}

/** Innermost first. */
function castsOf(value: unknown): Tree[] {
  const { kind, node } = nodeOf(value)
  return kind === 'TypeCast' ? [...castsOf(node.arg), node.typeName as Tree] : []
}
