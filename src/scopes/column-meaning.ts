import type { Tree } from '../guard/index.js'
import type { BaseColumn, BaseExpression, FlattenedColumn } from './alternative.js'
import { followsOf } from './follows.js'
import { type Levels, resolveColumn } from './names.js'
import type { QueryFacts } from './query-facts.js'
import type { ScopeWork } from './scope-work.js'
import { lastNameOf, listOf, nodeOf } from './tree.js'
import { unsteadyCall } from './unsteady.js'
import { expressionText } from './write-expression.js'

/** A column without its name. */
export type ColumnMeaning = Omit<FlattenedColumn, 'name'>

/** What an expression reveals about the rows it is computed from. */
export function meaningOf(work: ScopeWork, value: unknown, levels: Levels): ColumnMeaning {
  const { kind, node } = nodeOf(value)
  if (kind === 'ColumnRef') return resolveColumn(node, levels)
  const reader = new ExpressionReader(work, levels)
  const written = reader.replace(value) as Tree
  const opaque =
    reader.opaque ??
    (expressionText(written) === null ? 'it is computed by an expression that cannot be followed' : null)
  const isStrict = kind === 'TypeCast' && nodeOf(node.arg).kind === 'ColumnRef'
  return {
    value: opaque === null ? { node: written, uses: reader.uses } : null,
    // COALESCE and the like give an absent row a value that no present row explains.
    opaque:
      opaque ??
      (reader.isOptional && !isStrict ? 'it is computed from the optional side of an outer join' : null),
    isOptional: reader.isOptional,
    isLoose: false,
    unsteady: reader.unsteady,
    follows: followsOf(value, levels),
  }
}

const FLOATING: ReadonlySet<string> = new Set(['real', 'double precision'])

/** Replaces the column references of one expression and records what prevents following it. */
class ExpressionReader {
  readonly #work: ScopeWork
  readonly #levels: Levels
  readonly uses: BaseColumn[] = []
  opaque: string | null = null
  isOptional = false
  unsteady: string | null = null

  constructor(work: ScopeWork, levels: Levels) {
    this.#work = work
    this.#levels = levels
  }

  replace(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.replace(each))
    if (value === null || typeof value !== 'object') return value
    const { kind, node } = nodeOf(value)
    if (kind === 'ColumnRef') return this.#take(resolveColumn(node, this.#levels), value)
    if (isSetCall(this.#work.facts, kind, node)) return this.#rows(node, value)
    this.#note(kind, node)
    // What a subquery computes is not part of this expression, and its names mean other things.
    if (kind === 'SubLink') return value
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, this.replace(each)]))
  }

  /** Rows of a function in the select list (`rowsOfList`). */
  #rows(call: Tree, written: unknown): unknown {
    const text = textOfCall(this.#work, call, this.#levels)
    const columns = (this.#levels[0] ?? []).flatMap((relation) => relation.columns)
    const column = columns.find(({ name }) => name === text)
    if (column !== undefined) return this.#take(column, written)
    this.opaque ??= 'it is the result of a function that returns rows'
    return written
  }

  #take(column: FlattenedColumn, written: unknown): unknown {
    this.opaque ??=
      column.opaque ?? (column.isLoose ? 'it is computed from one of several equal values' : null)
    this.isOptional ||= column.isOptional
    this.unsteady ??= column.unsteady
    if (column.value === null) return written
    this.uses.push(...column.value.uses)
    return column.value.node
  }

  #note(kind: string, node: Tree): void {
    if (kind === 'SubLink') this.opaque ??= 'it is the result of a subquery'
    if (kind === 'GroupingFunc') this.opaque ??= 'it is GROUPING()'
    if (isAggregate(this.#work.facts, kind, node)) this.opaque ??= 'it is an aggregate'
    if (kind === 'FuncCall' && node.over !== undefined) this.opaque ??= 'it is a window function'
    const calls = { facts: this.#work.facts, isExact: (argument: Tree) => this.#isExact(argument) }
    this.unsteady ??= unsteadyCall(calls, kind, node)
  }

  #isExact(argument: Tree): boolean {
    const { kind, node } = nodeOf(argument)
    const value = kind === 'ColumnRef' ? resolveColumn(node, this.#levels).value : null
    const use = value === null ? null : plainUse(value)
    return use !== null && !FLOATING.has(this.#work.typeOf(use))
  }
}

/** A call of a function that returns rows, with its arguments over base columns; null: they are not known. */
export function textOfCall(work: ScopeWork, call: Tree, levels: Levels): string | null {
  const reader = new ExpressionReader(work, levels)
  const args = reader.replace(listOf(call.args))
  return reader.opaque === null ? expressionText({ FuncCall: { ...call, args } }) : null
}

export function isSetCall(facts: QueryFacts, kind: string, node: Tree): boolean {
  return kind === 'FuncCall' && node.over === undefined && facts.setFunctions.has(lastNameOf(node.funcname))
}

/** Also for a plain function that has the name of an aggregate of the query: that is the safe side. */
export function isAggregate(facts: QueryFacts, kind: string, node: Tree): boolean {
  if (kind === 'JsonArrayAgg' || kind === 'JsonObjectAgg') return true
  return kind === 'FuncCall' && node.over === undefined && facts.aggregates.has(lastNameOf(node.funcname))
}

/** A base column, perhaps under casts that cannot fail; null for anything else. */
export function plainUse({ node: value, uses }: BaseExpression): BaseColumn | null {
  const { kind, node } = nodeOf(value)
  if (kind === 'BaseColumn') return node as unknown as BaseColumn
  return kind === 'TypeCast' ? plainUse({ node: node.arg as Tree, uses }) : null
}
