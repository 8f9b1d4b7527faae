import type { BaseColumn, BaseExpression, Link, LinkCondition, Occurrence } from './alternative.js'
import { nodeOf } from './tree.js'

/**
 * Columns that usable links make equal, in classes. Any two members of a class may be compared, although the query
 * compares them by way of a third: rating and cast member meet at the film without the film being read.
 */
export class SameColumns {
  readonly #classOf = new Map<string, BaseColumn[]>()
  readonly #links = new Set<Link>()

  constructor(links: readonly Link[], occurrences: ReadonlyMap<number, Occurrence>) {
    for (const link of links) {
      const [left, right] = [bare(link.left), bare(link.right)]
      if (link.operator !== '=' || left === null || right === null) continue
      // Equality of different types may not be transitive, and of values that differ otherwise, one cannot replace another.
      const [one, other] = [columnOf(left, occurrences), columnOf(right, occurrences)]
      if (one?.type !== other?.type || one?.collation !== other?.collation || one?.isLoose !== false) continue
      this.#links.add(link)
      this.#join(left, right)
    }
  }

  has(link: Link): boolean {
    return this.#links.has(link)
  }

  of(use: BaseColumn): readonly BaseColumn[] {
    return this.#classOf.get(keyOf(use)) ?? [use]
  }

  neighbours(occurrence: number): number[] {
    const found = this.#classes()
      .map((members) => members.map((each) => each.occurrence))
      .filter((ids) => ids.includes(occurrence))
      .flat()
    return [...new Set(found)].filter((id) => id !== occurrence)
  }

  /** One comparison less than there are members among those that were chosen. */
  conditions(isChosen: (use: BaseColumn) => boolean): LinkCondition[] {
    return this.#classes().flatMap((members) => {
      const [first, ...others] = members.filter(isChosen)
      return first === undefined
        ? []
        : others.map((other) => ({ operator: '=', left: expressionOf(first), right: expressionOf(other) }))
    })
  }

  #classes(): BaseColumn[][] {
    return [...new Set(this.#classOf.values())]
  }

  #join(left: BaseColumn, right: BaseColumn): void {
    const members = [...this.of(left), ...this.of(right)]
    const distinct = [...new Map(members.map((each) => [keyOf(each), each])).values()]
    for (const each of distinct) this.#classOf.set(keyOf(each), distinct)
  }
}

function keyOf({ occurrence, column }: BaseColumn): string {
  return `${occurrence} ${column}`
}

function bare({ node }: BaseExpression): BaseColumn | null {
  const { kind, node: inner } = nodeOf(node)
  return kind === 'BaseColumn' ? (inner as unknown as BaseColumn) : null
}

function expressionOf(use: BaseColumn): BaseExpression {
  return { node: { BaseColumn: use }, uses: [use] }
}

function columnOf({ occurrence, column }: BaseColumn, occurrences: ReadonlyMap<number, Occurrence>) {
  return occurrences.get(occurrence)?.table.columns.get(column)
}
