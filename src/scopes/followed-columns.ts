import type { TableName } from '../sql/identifiers.js'
import { type QueryFacts, relationKey } from './query-facts.js'
import { flatten } from './trace-scopes.js'
import { Untraceable } from './untraceable.js'

/** A column of a base table, and the result column that cannot exceed it. */
export interface FollowedColumn {
  readonly table: TableName
  readonly column: string
  readonly type: string
}

/**
 * The base columns that these columns of the result are the greatest of: where the value of a row is above a limit, so is
 * one of them. Null: this cannot be read from the query.
 */
export function followedColumns(facts: QueryFacts, names: readonly string[]): FollowedColumn[] | null {
  try {
    const found = flatten(facts).flatMap((alternative) =>
      names.flatMap((name) => {
        const type = facts.columns.find((column) => column.name === name)?.type
        const follows = alternative.columns.find((column) => column.name === name)?.follows ?? null
        if (follows === null || type === undefined) return [null]
        return follows.map(({ occurrence, column }) => {
          const table = alternative.occurrences.find(({ id }) => id === occurrence)?.table
          const isSame = table?.isReadable === true && table.columns.get(column)?.type === type
          return isSame ? { table: table.name, column, type } : null
        })
      }),
    )
    return found.length === 0 || found.includes(null) ? null : distinct(found as FollowedColumn[])
  } catch (error) {
    if (error instanceof Untraceable) return null
    throw error
  }
}

function distinct(columns: readonly FollowedColumn[]): FollowedColumn[] {
  return [...new Map(columns.map((each) => [`${relationKey(each.table)}.${each.column}`, each])).values()]
}
