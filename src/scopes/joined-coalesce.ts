import type { Link } from './alternative.js'
import { type ColumnMeaning, meaningOf, plainUse } from './column-meaning.js'
import type { Here, ScopeWork } from './scope-work.js'
import { listOf, nodeOf } from './tree.js'

interface Joined {
  readonly here: Here
  readonly links: readonly Link[]
}

/**
 * COALESCE of columns that the query joins with each other, as in a FULL JOIN with ON, is the one that is always there:
 * the others are equal to it or absent. Null: something else.
 */
export function joinedCoalesce(
  work: ScopeWork,
  value: unknown,
  { here, links }: Joined,
): ColumnMeaning | null {
  const { kind, node } = nodeOf(value)
  if (kind !== 'CoalesceExpr') return null
  const parts = listOf(node.args).map((each) => meaningOf(work, each, here.levels))
  const [present, ...more] = parts.filter(({ isOptional }) => !isOptional)
  if (present === undefined || more.length > 0) return null
  const isSame = (part: ColumnMeaning) => part === present || isJoined(work, links, { part, present })
  return parts.every(isSame) ? present : null
}

interface Pair {
  readonly part: ColumnMeaning
  readonly present: ColumnMeaning
}

/** Whether a link says that the two are equal wherever the first one is there. */
function isJoined(work: ScopeWork, links: readonly Link[], { part, present }: Pair): boolean {
  const [one, other] = [bareUse(part), bareUse(present)]
  if (one === null || other === null || work.isLoose(part.value) || work.typeOf(one) !== work.typeOf(other))
    return false
  return links.some(({ operator, left, right, guards }) => {
    const uses = [bareUse({ value: left }), bareUse({ value: right })]
    const isBetween = [one, other].every((use) =>
      uses.some((each) => each?.occurrence === use.occurrence && each.column === use.column),
    )
    return operator === '=' && isBetween && guards.every((guard) => guard.has(one.occurrence))
  })
}

/** Without casts, which may make other values of it. */
function bareUse({ value }: Pick<ColumnMeaning, 'value'>) {
  return value?.node.BaseColumn === undefined ? null : plainUse(value)
}
