import type { Tree } from '../guard/index.js'
import type { BaseTable } from './query-facts.js'

/** One use of a base table in the query, or one call of a function that returns rows. The same table used twice is two occurrences. */
export interface Occurrence {
  readonly id: number
  /** The rows of a function are those of a table that never changes. */
  readonly table: BaseTable
  /** FROM ONLY: without the children of an inheritance parent. */
  readonly isOnly: boolean
  /** Null: a base table. */
  readonly call: RowsCall | null
}

/** A call of a function that returns rows, over columns of other occurrences. */
export interface RowsCall extends BaseExpression {
  readonly hasOrdinality: boolean
}

export interface BaseColumn {
  readonly occurrence: number
  readonly column: string
}

/** An expression over columns of occurrences: a parser's tree in which each column is `{BaseColumn: …}`. */
export interface BaseExpression {
  readonly node: Tree
  readonly uses: readonly BaseColumn[]
}

/**
 * A condition that holds only for row combinations in which these occurrences are present: the optional side of an outer
 * join, the body of a subquery. It may be used when one of them is known to be present.
 */
export type Guard = ReadonlySet<number>

/** A comparison of two columns that holds in every row combination that satisfies its guards. */
export interface Link {
  readonly operator: string
  readonly left: BaseExpression
  readonly right: BaseExpression
  readonly guards: readonly Guard[]
}

export type LinkCondition = Pick<Link, 'operator' | 'left' | 'right'>

/** A column of a relation in FROM, of a subquery or of the result. */
export interface FlattenedColumn {
  readonly name: string
  /** Null: nothing that could be written over base columns. */
  readonly value: BaseExpression | null
  /**
   * Why the column does not identify the source rows that a row is computed from; null: it does (transparent). The value of a
   * transparent column is the same in all row combinations that affect a row of this subquery.
   */
  readonly opaque: string | null
  /** May be NULL where `value` would not be, because the optional side of an outer join is absent. */
  readonly isOptional: boolean
  /** One of several values that are equal but not the same: nothing can be computed from it, only compared. */
  readonly isLoose: boolean
  /** Why two plans may compute different values of it from the same rows; null: they cannot. */
  readonly unsteady: string | null
  /** Base columns of which it is the greatest: it exceeds a limit only if one of them does. Null: not known. */
  readonly follows: readonly BaseColumn[] | null
}

/** Something in FROM, under the name by which the query calls it. */
export interface FromRelation {
  readonly alias: string | null
  readonly columns: readonly FlattenedColumn[]
  /** Columns that only a qualified name reaches: the second one of a USING pair. */
  readonly hidden: ReadonlySet<string>
  /** Its columns are not all known, as those of some functions: any other name is one of them, and opaque. */
  readonly isOpen: boolean
}

/** What a part of FROM contributes. */
export interface Piece {
  readonly occurrences: readonly Occurrence[]
  readonly links: readonly Link[]
  readonly relations: readonly FromRelation[]
  /** Why two plans may choose different rows; null: they cannot. */
  readonly unsteadyRows: string | null
}

/** One way in which a row of the result can come about: each branch of a set operation is one. */
export interface Alternative {
  readonly occurrences: readonly Occurrence[]
  readonly links: readonly Link[]
  readonly columns: readonly FlattenedColumn[]
}

export const EMPTY_PIECE: Piece = { occurrences: [], links: [], relations: [], unsteadyRows: null }

export function combined(left: Piece, right: Piece): Piece {
  return {
    occurrences: [...left.occurrences, ...right.occurrences],
    links: [...left.links, ...right.links],
    relations: [...left.relations, ...right.relations],
    unsteadyRows: left.unsteadyRows ?? right.unsteadyRows,
  }
}

export function guarded(links: readonly Link[], guard: Guard): Link[] {
  return links.map((link) => ({ ...link, guards: [...link.guards, guard] }))
}

export function occurrenceIds(occurrences: readonly Occurrence[]): number[] {
  return occurrences.map(({ id }) => id)
}

export function opaqueColumn(name: string, opaque: string): FlattenedColumn {
  return { name, value: null, opaque, isOptional: false, isLoose: false, unsteady: null, follows: null }
}
