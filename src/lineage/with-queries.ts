import type { Tree } from '../guard/index.js'
import { type Derived, type DerivedField, type DerivedTable, renamed, union, unresolved } from './derived.js'
import type { LineageWork, QueryContext, WithQueries } from './lineage-work.js'
import { listOf, namesOf, nodeOf } from './tree.js'

/** A column may need a round for each column before it; further rounds change nothing. */
const MOST_ROUNDS = 20

/** The names defined by WITH, each analysed on first use, or at the latest here. */
export function withQueries(work: LineageWork, node: Tree, place: QueryContext): WithQueries {
  const clause = node.withClause as Tree | undefined
  if (clause === undefined) return place.queries
  const queries = new Map(place.queries)
  const isRecursive = clause.recursive === true
  const added: (() => DerivedTable)[] = []
  for (const value of listOf(clause.ctes)) {
    const query = nodeOf(value).node
    const seen = isRecursive ? queries : new Map(queries)
    const table = new WithQuery(work, query, { ...place, queries: seen, mayRecur: isRecursive })
    const ask = () => table.table()
    queries.set(String(query.ctename), ask)
    added.push(ask)
  }
  // A WITH query runs even if it is not referenced.
  for (const ask of added) ask()
  return queries
}

class WithQuery {
  readonly #work: LineageWork
  readonly #node: Tree
  readonly #place: QueryContext
  #known: DerivedTable | null = null
  readonly #mayRecur: boolean
  #isReading = false
  #isRecursive = false

  constructor(
    work: LineageWork,
    node: Tree,
    { mayRecur, ...place }: QueryContext & { readonly mayRecur: boolean },
  ) {
    this.#work = work
    this.#node = node
    this.#place = place
    this.#mayRecur = mayRecur
  }

  /** What is known so far during the analysis: a recursive query sees itself this way. */
  table(): DerivedTable {
    if (this.#known !== null && !this.#isReading) return this.#known
    if (this.#isReading) {
      this.#isRecursive = true
      return this.#known ?? { fields: [], open: 'the query refers to itself' }
    }
    this.#isReading = true
    this.#known = this.#firstTerm()
    this.#known = this.#rounds()
    this.#isReading = false
    return this.#known
  }

  /** The left side of a recursive query's UNION. Null: it has none. */
  #firstTerm(): DerivedTable | null {
    const query = this.#query()
    if (!this.#mayRecur || query.op !== 'SETOP_UNION') return null
    const queries = withQueries(this.#work, query, this.#place)
    return this.#named(this.#work.select(query.larg as Tree, { ...this.#place, queries }))
  }

  #rounds(): DerivedTable {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = this.#known
      const table = this.#named(this.#work.select(this.#query(), this.#place))
      if (!this.#isRecursive || (before !== null && isSame(before, table))) return table
      this.#known = table
    }
    return {
      fields: this.#known!.fields.map(({ name }) => ({
        name,
        derived: unresolved('the recursion is too deep'),
      })),
      open: null,
    }
  }

  #query(): Tree {
    return nodeOf(this.#node.ctequery).node
  }

  #named(table: DerivedTable): DerivedTable {
    const { fields, open } = renamed(table, namesOf(this.#node.aliascolnames))
    return { fields: [...fields, ...this.#searchColumns(fields), ...this.#cycleColumns(fields)], open }
  }

  /** SEARCH … SET column: an order that depends on the columns that it names. */
  #searchColumns(fields: readonly DerivedField[]): DerivedField[] {
    const search = this.#node.search_clause as Tree | undefined
    if (search === undefined) return []
    return [{ name: String(search.search_seq_column), derived: computedOf(fields, search.search_col_list) }]
  }

  #cycleColumns(fields: readonly DerivedField[]): DerivedField[] {
    const cycle = this.#node.cycle_clause as Tree | undefined
    if (cycle === undefined) return []
    const derived = computedOf(fields, cycle.cycle_col_list)
    return [cycle.cycle_mark_column, cycle.cycle_path_column].map((name) => ({ name: String(name), derived }))
  }
}

function computedOf(fields: readonly DerivedField[], names: unknown): Derived {
  const parts = namesOf(names).flatMap((name) => fields.filter((field) => field.name === name))
  return {
    kind: 'expression',
    sources: union(parts.map(({ derived }) => derived)),
    text: null,
    unresolved: null,
  }
}

/** Compares sources and kinds. Texts would grow with every round. */
function isSame(before: DerivedTable, after: DerivedTable): boolean {
  return (
    before.fields.length === after.fields.length &&
    before.open === after.open &&
    before.fields.every(({ derived: one }, n) => {
      const other = after.fields[n]!.derived
      return (
        one.kind === other.kind &&
        one.sources.size === other.sources.size &&
        one.unresolved === other.unresolved
      )
    })
  )
}
