import type { Tree } from '../guard/index.js'
import type { BaseColumn, FlattenedColumn } from './alternative.js'
import { meaningOf } from './column-meaning.js'
import { joinedCoalesce } from './joined-coalesce.js'
import { type RowList, RowLists, type Selected } from './row-lists.js'
import type { ScopeWork } from './scope-work.js'
import { lastNameOf, listOf, namesOf, nodeOf } from './tree.js'
import { expressionText } from './write-expression.js'

interface Source extends Omit<Selected, 'targets'> {
  readonly unsteadyRows: string | null
}

/**
 * The columns of a SELECT. GROUP BY, DISTINCT ON, windows and LIMIT let rows affect each other: a column stays transparent
 * only if it is the same in all rows that do, that is, if it is in the list of each of them.
 */
export function outputColumns(work: ScopeWork, select: Tree, source: Source): FlattenedColumn[] {
  const targets = targetsOf(work, select, source)
  const lists = new RowLists(work, select, { ...source, targets })
  const all = lists.all()
  const isMerging = all.length > 0 || listOf(select.distinctClause).length > 0
  return targets.map((target, place) => {
    const { node } = nodeOf(listOf(select.targetList)[place])
    const unsteady = target.unsteady ?? lists.unsteadyWindow(node.val)
    const isLoose = target.isLoose || (isMerging && work.isLoose(target.value))
    return settled({ ...target, unsteady, isLoose }, all, { work, unsteadyRows: source.unsteadyRows })
  })
}

function targetsOf(work: ScopeWork, select: Tree, source: Source): FlattenedColumn[] {
  return listOf(select.targetList).map((each) => {
    const { node } = nodeOf(each)
    const meaning = joinedCoalesce(work, node.val, source) ?? meaningOf(work, node.val, source.here.levels)
    return { ...meaning, name: nameOf(node) }
  })
}

/** The server writes AS wherever the name is not that of the column. */
function nameOf({ name, val }: Tree): string {
  if (name !== undefined) return String(name)
  const { node } = nodeOf(val)
  return namesOf(node.fields).at(-1) ?? lastNameOf(node.funcname)
}

interface Settling {
  readonly work: ScopeWork
  readonly unsteadyRows: string | null
}

function settled(
  target: FlattenedColumn,
  lists: readonly RowList[],
  { work, unsteadyRows }: Settling,
): FlattenedColumn {
  const mixing = lists.find((list) => !isInList(work, target, list))
  const unsteady =
    target.unsteady ?? lists.find((list) => list.ties !== null && !isInList(work, target, list))?.ties ?? null
  const opaque = target.opaque ?? mixing?.reason ?? null
  return { ...target, opaque, unsteady: unsteady ?? (opaque === null ? null : unsteadyRows) }
}

/**
 * A constant is in every list, and so is what is computed from columns that are and that have one value, or that belong to
 * a row whose primary key is in the list.
 */
function isInList(work: ScopeWork, { value }: FlattenedColumn, { texts }: RowList): boolean {
  if (value === null) return false
  const text = expressionText(value.node)
  if (text !== null && texts.has(text)) return true
  const isListed = (use: BaseColumn) => texts.has(expressionText({ BaseColumn: use }) ?? '')
  const isDetermined = ({ occurrence }: BaseColumn) => {
    const key = work.primaryKeyOf(occurrence)
    return key.length > 0 && key.every((column) => isListed({ occurrence, column }))
  }
  const hasOneValue = (use: BaseColumn) =>
    isDetermined(use) || (isListed(use) && !work.isLoose({ node: { BaseColumn: use }, uses: [use] }))
  return value.uses.every(hasOneValue)
}
