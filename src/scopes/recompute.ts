import { quoteIdentifier } from '../sql/identifiers.js'
import { hasOneText } from './one-text.js'
import type { Recompute } from './scope-trace.js'

type Column = { readonly name: string; readonly type: string }

/** The statements that compute the rows of given scopes. */
export function recomputeStatements(query: string, scope: readonly Column[]): Omit<Recompute, 'full'> {
  const names = scope.map(({ name }) => `q.${quoteIdentifier(name)}`)
  const places = scope.map((_, place) => place)
  const values = scope.map(({ type }, place) => `u.c${place}::${type} AS k${place}`).join(', ')
  const arrays = places.map((place) => `$${place + 1}::text[]`).join(', ')
  // Else a scope could come twice, and its rows too. Not always, for it hides from the planner how many there are.
  const distinct = scope.every(({ type }) => hasOneText(type)) ? '' : 'DISTINCT '
  const scopes = `SELECT ${distinct}${values} FROM unnest(${arrays}) AS u(${places.map((place) => `c${place}`).join(', ')})`
  const equal = places.map((place) => `${names[place]} = k.k${place}`).join(' AND ')
  return {
    // OFFSET 0 keeps the planner from turning the lookup of each scope into one join over everything.
    lateral: `SELECT q.* FROM (${scopes}) k CROSS JOIN LATERAL (SELECT * FROM (${query}) q WHERE ${equal} OFFSET 0) q`,
    any: `SELECT q.* FROM (${query}) q WHERE ${anyOf(scope, names, scopes)}`,
  }
}

/** With one column the planner can use the array for an index. An array of arrays would be taken for a matrix. */
function anyOf(scope: readonly Column[], names: readonly string[], scopes: string): string {
  const [only, ...more] = scope
  return only !== undefined && more.length === 0 && !only.type.endsWith(']')
    ? `${names[0]} = ANY ($1::text[]::${only.type}[])`
    : `(${names.join(', ')}) IN (${scopes})`
}
