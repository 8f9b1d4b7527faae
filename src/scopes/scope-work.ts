import type { Tree } from '../guard/index.js'
import type { Alternative, BaseColumn, BaseExpression, Occurrence } from './alternative.js'
import type { Levels } from './names.js'
import type { BaseTable, QueryFacts } from './query-facts.js'
import { walk } from './tree.js'
import { Untraceable } from './untraceable.js'

/** A WITH query, with what can be named inside it. */
export interface WithQuery {
  readonly select: Tree
  readonly columns: readonly string[]
  readonly place: Place
}

/** Where a SELECT is: what it can name besides its own FROM. */
export interface Place {
  readonly queries: ReadonlyMap<string, WithQuery>
  readonly outer: Levels
}

/** Where an expression is: inside a SELECT, whose FROM is the first level. */
export interface Here {
  readonly queries: ReadonlyMap<string, WithQuery>
  readonly levels: Levels
}

/** Uses of tables, those of a WITH query counted wherever it is named. Queries that people write have fewer than 50. */
const MOST_OCCURRENCES = 400
/** Branches of set operations that are joined multiply. */
const MOST_ALTERNATIVES = 64

/** What all parts of one flattening share. */
export class ScopeWork {
  readonly facts: QueryFacts
  /** Handed in, because FROM, conditions and SELECT need each other. */
  readonly select: (select: Tree, place: Place) => Alternative[]
  readonly #occurrences: Occurrence[] = []

  constructor(facts: QueryFacts, select: (work: ScopeWork, select: Tree, place: Place) => Alternative[]) {
    this.facts = facts
    this.select = (node, place) => select(this, node, place)
  }

  occurrence(table: BaseTable, { isOnly = false, call = null }: Partial<Occurrence> = {}): Occurrence {
    if (this.#occurrences.length >= MOST_OCCURRENCES)
      throw new Untraceable(
        `The query uses tables more than ${MOST_OCCURRENCES} times, WITH queries and views written out.`,
      )
    const occurrence = { id: this.#occurrences.length, table, isOnly, call }
    this.#occurrences.push(occurrence)
    return occurrence
  }

  /** Whether equal values of the expression may differ in other respects. */
  isLoose(value: BaseExpression | null): boolean {
    const columns = (value?.uses ?? []).map(({ occurrence, column }) =>
      this.#occurrences[occurrence]?.table.columns.get(column),
    )
    return columns.some((column) => column?.isLoose !== false)
  }

  /** Whether it may have another collation than the default one. */
  isCollated({ node, uses }: BaseExpression): boolean {
    const isOwn = ({ occurrence, column }: BaseColumn) =>
      this.#occurrences[occurrence]?.table.columns.get(column)?.collation != null
    let found = uses.some(isOwn)
    walk(node, (kind) => {
      found ||= kind === 'CollateClause'
      return true
    })
    return found
  }

  primaryKeyOf(occurrence: number): readonly string[] {
    return this.#occurrences[occurrence]?.table.primaryKey ?? []
  }

  /** Whether it is a column that cannot be NULL, as long as its row is there. */
  isNotNull(value: BaseExpression): boolean {
    const use = value.node.BaseColumn as BaseColumn | undefined
    if (use === undefined) return false
    return this.#occurrences[use.occurrence]?.table.columns.get(use.column)?.isNotNull === true
  }

  typeOf({ occurrence, column }: BaseColumn): string {
    return this.#occurrences[occurrence]?.table.columns.get(column)?.type ?? ''
  }

  /** Every way of the first with every way of the second. */
  product<A, B, C>(first: readonly A[], second: (one: A) => readonly B[], join: (a: A, b: B) => C): C[] {
    const all = first.flatMap((one) => second(one).map((other) => join(one, other)))
    if (all.length > MOST_ALTERNATIVES)
      throw new Untraceable(
        `The branches of the query's set operations combine in more than ${MOST_ALTERNATIVES} ways.`,
      )
    return all
  }
}
