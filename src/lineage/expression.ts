import { AGGREGATES, type Tree } from '../guard/index.js'
import { CONSTANT, type Derived, strongest, textIn, union, unresolved, type ValueKind } from './derived.js'
import type { LineageWork, QueryContext } from './lineage-work.js'
import { columnOfItem, type FromItem, findColumn, findItem, type Scope, wholeRow } from './scope.js'
import { childrenOf, endsWithStar, listOf, namesOf, nodeOf } from './tree.js'

/** The context of an expression. */
export interface ExpressionContext extends QueryContext {
  readonly scope: Scope
}

/** How to extract the text of an expression; null: it has no text of its own. */
export type ExpressionText = ((replacements: ReadonlyMap<number, string>) => string) | null

export interface Expression {
  /** Its node in the parse tree. */
  readonly value: unknown
  readonly text?: ExpressionText
}

/** Where the value of an expression comes from. */
export function derive(
  work: LineageWork,
  { value, text = null }: Expression,
  here: ExpressionContext,
): Derived {
  const found = nodeOf(value)
  if (found.kind === 'ColumnRef') return resolve(found.node, here)
  const gathered = new SourceCollector(work, here)
  if (found.kind !== '') gathered.visit(found.kind, found.node)
  return gathered.derived(text)
}

/** `title`, `f.title`, `content.film_work.title`, `f`, `f.*`. */
function resolve(node: Tree, { scope }: ExpressionContext): Derived {
  const names = namesOf(node.fields)
  if (endsWithStar(node.fields)) {
    const item = itemNamed(names, scope)
    return item === null ? unresolved(`${names.join('.')}.* is not known`) : wholeRow(item)
  }
  const [column = '', table = null, schema = null] = [...names].reverse()
  if (table === null) {
    const item = findColumn(column, scope) ?? findItem(column, null, scope)
    if (item === null) return unresolved(`"${column}" is not known`)
    return 'fields' in item ? wholeRow(item) : item
  }
  const item = findItem(table, schema, scope)
  return item === null ? unresolved(`"${names.join('.')}" is not known`) : columnOfItem(item, column)
}

/** The item before `.*`, or a name that refers to a whole item. */
export function itemNamed(names: readonly string[], scope: Scope): FromItem | null {
  const [table = '', schema = null] = [...names].reverse()
  return findItem(table, schema, scope)
}

/** Everything that an expression depends on. */
class SourceCollector {
  readonly #work: LineageWork
  readonly #here: ExpressionContext
  readonly #parts: Derived[] = []
  readonly #replacements = new Map<number, string>()
  #own: ValueKind = 'constant'

  constructor(work: LineageWork, here: ExpressionContext) {
    this.#work = work
    this.#here = here
  }

  derived(text: ExpressionText): Derived {
    const sources = union(this.#parts)
    this.#work.spend(sources.size)
    const kinds = this.#parts.map(({ kind }) => (kind === 'direct' ? 'expression' : kind))
    return {
      kind: strongest([this.#own, ...kinds]),
      sources,
      text: text === null ? null : text(this.#replacements),
      unresolved: this.#parts.find((part) => part.unresolved !== null)?.unresolved ?? null,
    }
  }

  visit(kind: string, node: Tree): void {
    this.#work.spend(1)
    if (kind === 'ColumnRef') this.#reference(node)
    else if (kind === 'SubLink') this.#subLink(node)
    else if (kind === 'SelectStmt') this.#parts.push(firstValue(this.#work.select(node, this.#inside())))
    else if (kind === 'A_Indirection') this.#indirection(node)
    else {
      if (isAggregate(kind, node)) this.#own = 'aggregate'
      if (node.over !== undefined) this.#window(node.over as Tree)
      this.#children(node)
    }
  }

  #children(value: unknown): void {
    for (const { kind, node } of childrenOf(value)) this.visit(kind, node)
  }

  #reference(node: Tree): void {
    const derived = resolve(node, this.#here)
    this.#parts.push(derived)
    const text = derived.unresolved === null ? textIn(derived) : null
    if (text !== null && typeof node.location === 'number')
      this.#replacements.set(node.location, derived.kind === 'direct' ? text : inBrackets(text))
  }

  /** `(f).title` is a column of f; for anything else it is a part of the value. */
  #indirection(node: Tree): void {
    const item = rowNamed(node.arg, this.#here.scope)
    const [field] = namesOf(node.indirection)
    if (item !== null && field !== undefined) this.#parts.push(columnOfItem(item, field))
    else this.#children(node.arg === undefined ? [] : [node.arg])
    this.#children(listOf(node.indirection))
  }

  /** OVER w: the columns of the named window. */
  #window({ name, refname }: Tree): void {
    const window = this.#here.scope.windows.get(String(name ?? refname))
    if (window !== undefined) this.#children(window)
  }

  #subLink(node: Tree): void {
    const query = nodeOf(node.subselect).node
    const { result, shaping } = this.#work.shapingOf(() => this.#work.select(query, this.#inside()))
    this.#children([node.testexpr])
    const type = String(node.subLinkType)
    if (/^(EXPR|ARRAY)_SUBLINK$/.test(type)) return void this.#parts.push(firstValue(result))
    // The results of EXISTS and IN depend on the rows, and so on everything that filters them.
    this.#parts.push({ ...CONSTANT, kind: 'expression', sources: shaping.sources })
    if (type !== 'EXISTS_SUBLINK') this.#parts.push(wholeRow(result))
  }

  #inside(): QueryContext {
    return { queries: this.#here.queries, outer: this.#here.scope }
  }
}

function firstValue({
  fields,
  open,
}: {
  fields: readonly { derived: Derived }[]
  open: string | null
}): Derived {
  return fields[0]?.derived ?? unresolved(open ?? 'the subquery returns no column')
}

function rowNamed(value: unknown, scope: Scope): FromItem | null {
  const found = nodeOf(value)
  if (found.kind !== 'ColumnRef') return null
  const names = namesOf(found.node.fields)
  if (names.length !== 1 || findColumn(names[0]!, scope) !== null) return null
  return itemNamed(names, scope)
}

/** A call with WITHIN GROUP or FILTER, or with a name that only aggregates have. */
function isAggregate(kind: string, node: Tree): boolean {
  if (kind === 'JsonObjectAgg' || kind === 'JsonArrayAgg') return true
  if (kind !== 'FuncCall') return false
  const marks = [node.agg_star, node.agg_within_group, node.agg_filter, node.agg_distinct, node.agg_order]
  return (
    marks.some((mark) => mark !== undefined && mark !== false) ||
    AGGREGATES.has(namesOf(node.funcname).at(-1) ?? '')
  )
}

/** Whether parentheses are needed: a call or a name needs none. */
function inBrackets(text: string): string {
  return /^[\w."]+(\([^()]*\))?$/.test(text) ? text : `(${text})`
}
