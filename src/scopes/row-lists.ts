import type { Tree } from '../guard/index.js'
import type { FlattenedColumn, Link, Occurrence } from './alternative.js'
import { BEHIND_LIMIT, isAggregated, isLimited, LIMIT_TIES, windowClause } from './clauses.js'
import { type ColumnMeaning, meaningOf, plainUse } from './column-meaning.js'
import { isDetermined } from './determined.js'
import { joinedCoalesce } from './joined-coalesce.js'
import { visibleColumn } from './names.js'
import type { Here, ScopeWork } from './scope-work.js'
import { lastNameOf, listOf, namesOf, nodeOf, walk } from './tree.js'
import { distinguishesPeers } from './unsteady.js'
import { expressionText } from './write-expression.js'

/** Rows that are equal in these expressions affect each other; others do not. */
export interface RowList {
  readonly texts: ReadonlySet<string>
  /** What a column that is not in it is: part of a sentence. */
  readonly reason: string
  /** Why its other columns may depend on the plan; null: they do not. */
  readonly ties: string | null
}

export interface Selected {
  /** Of FROM, without those of subqueries in expressions. */
  readonly occurrences: readonly Occurrence[]
  readonly links: readonly Link[]
  readonly here: Here
  /** The select list, before its rows are grouped. */
  readonly targets: readonly FlattenedColumn[]
}

/** GROUP BY, DISTINCT ON, the windows and the LIMIT of a SELECT: what lets its rows affect each other. */
export class RowLists {
  readonly #work: ScopeWork
  readonly #select: Tree
  readonly #source: Selected

  constructor(work: ScopeWork, select: Tree, source: Selected) {
    this.#work = work
    this.#select = select
    this.#source = source
  }

  all(): RowList[] {
    return [...this.#groups(), ...this.#distinct(), ...this.#windows(), ...this.#limit()]
  }

  #groups(): RowList[] {
    const clause = listOf(this.#select.groupClause)
    if (clause.length === 0 && !isAggregated(this.#work.facts, this.#select)) return []
    // Only what is in every grouping set is in every row.
    const texts = clause.flatMap((item) => this.#commonTexts(item))
    return [{ texts: new Set(texts), reason: 'it is not in GROUP BY', ties: null }]
  }

  #commonTexts(item: unknown): string[] {
    const { kind, node } = nodeOf(item)
    if (kind !== 'GroupingSet') return this.#textsOf([item])
    if (node.kind === 'GROUPING_SET_SIMPLE') return this.#textsOf(listOf(node.content))
    // ROLLUP and CUBE have the empty set among theirs.
    if (node.kind !== 'GROUPING_SET_SETS') return []
    const [first = [], ...others] = listOf(node.content).map((set) => this.#textsOfSet(set))
    return first.filter((text) => others.every((other) => other.includes(text)))
  }

  #textsOfSet(set: unknown): string[] {
    const { kind, node } = nodeOf(set)
    return kind === 'RowExpr' ? this.#textsOf(listOf(node.args)) : this.#commonTexts(set)
  }

  #distinct(): RowList[] {
    const clause = listOf(this.#select.distinctClause).filter((each) => nodeOf(each).kind !== '')
    if (clause.length === 0) return []
    const order = listOf(this.#select.sortClause).map((each) => nodeOf(each).node.node)
    const ties = this.#distinguishesRows([...clause, ...order])
      ? null
      : 'DISTINCT ON may keep another one of the rows that are equal in ORDER BY.'
    return [{ texts: new Set(this.#textsOf(clause)), reason: 'it is not in DISTINCT ON', ties }]
  }

  #windows(): RowList[] {
    const found: RowList[] = []
    walk([this.#select.targetList, this.#select.sortClause], (kind, node) => {
      if (kind === 'FuncCall' && node.over !== undefined) found.push(this.#window(node.over as Tree))
      return kind !== 'SubLink'
    })
    return found
  }

  #window(over: Tree): RowList {
    const partition = windowClause(this.#select, over, 'partitionClause')
    return {
      texts: new Set(this.#textsOf(partition)),
      reason: 'it is not in PARTITION BY of every window',
      ties: null,
    }
  }

  #limit(): RowList[] {
    if (!isLimited(this.#select)) return []
    const order = listOf(this.#select.sortClause).map((each) => nodeOf(each).node.node)
    const ties = this.#distinguishesRows(order) ? null : LIMIT_TIES
    return [{ texts: new Set(), reason: BEHIND_LIMIT, ties }]
  }

  #textsOf(expressions: readonly unknown[]): string[] {
    return expressions.flatMap((each) => {
      const { value, opaque } = this.#meaning(each)
      const text = value === null || opaque !== null ? null : expressionText(value.node)
      return text === null ? [] : [text]
    })
  }

  /** In these clauses a number is a place in the select list, and a name may be one of its columns. */
  #meaning(expression: unknown): ColumnMeaning {
    const { kind, node } = nodeOf(expression)
    const { targets, here } = this.#source
    const place = kind === 'A_Const' && node.ival !== undefined ? Number((node.ival as Tree).ival ?? 0) : 0
    const names = kind === 'ColumnRef' ? namesOf(node.fields) : []
    const isOutput = names.length === 1 && visibleColumn(here.levels[0] ?? [], names[0] ?? '') === null
    const target =
      targets[place - 1] ?? (isOutput ? targets.find(({ name }) => name === names[0]) : undefined)
    if (target !== undefined) return target
    const joined = joinedCoalesce(this.#work, expression, this.#source)
    return joined ?? meaningOf(this.#work, expression, here.levels)
  }

  /** Why a window function in this expression may depend on the plan. */
  unsteadyWindow(expression: unknown): string | null {
    let reason: string | null = null
    walk(expression, (kind, node) => {
      if (kind === 'FuncCall' && node.over !== undefined) reason ??= this.#peers(node, node.over as Tree)
      return kind !== 'SubLink'
    })
    return reason
  }

  #peers(call: Tree, over: Tree): string | null {
    const name = lastNameOf(call.funcname)
    if (!distinguishesPeers(name, over)) return null
    const order = windowClause(this.#select, over, 'orderClause').map((each) => nodeOf(each).node.node)
    const partition = windowClause(this.#select, over, 'partitionClause')
    return this.#distinguishesRows([...partition, ...order])
      ? null
      : `${name}() may number rows that are equal in its ORDER BY differently.`
  }

  /** Whether no two rows are equal in these expressions. */
  #distinguishesRows(expressions: readonly unknown[]): boolean {
    const grouped = listOf(this.#select.groupClause)
    if (grouped.length > 0) {
      const texts = this.#textsOf(expressions)
      return grouped.every((item) => this.#textsOf([item]).some((text) => texts.includes(text)))
    }
    const uses = expressions.flatMap((each) => {
      const { value } = this.#meaning(each)
      const use = value === null ? null : plainUse(value)
      return use === null ? [] : [use]
    })
    return isDetermined(this.#source, uses)
  }
}
