import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import { hasOneText } from './one-text.js'
import type { Recompute, RecomputeWay, Traced } from './scope-trace.js'

type TypedColumn = { readonly name: string; readonly type: string }

/**
 * One statement without parameters, for COPY and CREATE TABLE AS, which take none. `scopes`: one array for each scope
 * column; all have the same length.
 */
export function recomputeText(
  { recompute, scope }: Pick<Traced, 'recompute' | 'scope'>,
  way: RecomputeWay,
  scopes: readonly (readonly string[])[],
): string {
  if (way === 'full') return recompute.full
  return recomputeStatements(recompute.inlined, scope, scopes.map(arrayLiteral))[way]
}

/** The values of a column of scopes as a literal. */
export function arrayLiteral(values: readonly string[]): string {
  const elements = values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`)
  return `${quoteLiteral(`{${elements.join(',')}}`)}::text[]`
}

/** The statements that compute the rows of given scopes; `values` are their arrays, parameters unless given. */
export function recomputeStatements(
  query: string,
  scope: readonly TypedColumn[],
  values: readonly string[] = scope.map((_, place) => `$${place + 1}::text[]`),
): Pick<Recompute, 'lateral' | 'any'> {
  const names = scope.map(({ name }) => `q.${quoteIdentifier(name)}`)
  const places = scope.map((_, place) => place)
  const typed = scope.map(({ type }, place) => `u.c${place}::${type} AS k${place}`).join(', ')
  // Else a scope could come twice, and its rows too. Not always, for it hides from the planner how many there are.
  const distinct = scope.every(({ type }) => hasOneText(type)) ? '' : 'DISTINCT '
  const scopes = `SELECT ${distinct}${typed} FROM unnest(${values.join(', ')}) AS u(${places.map((place) => `c${place}`).join(', ')})`
  const equal = places.map((place) => `${names[place]} = k.k${place}`).join(' AND ')
  return {
    // OFFSET 0 keeps the planner from turning the lookup of each scope into one join over everything.
    lateral: `SELECT q.* FROM (${scopes}) k CROSS JOIN LATERAL (SELECT * FROM (${query}) q WHERE ${equal} OFFSET 0) q`,
    any: `SELECT q.* FROM (${query}) q WHERE ${anyOf(scope, { names, scopes, array: values[0] })}`,
  }
}

/** With one column the planner can use the array for an index. An array of arrays would be taken for a matrix. */
function anyOf(
  scope: readonly TypedColumn[],
  { names, scopes, array }: { names: readonly string[]; scopes: string; array: string | undefined },
): string {
  const [only, ...more] = scope
  return only !== undefined && more.length === 0 && !only.type.endsWith(']')
    ? `${names[0]} = ANY (${array}::${only.type}[])`
    : `(${names.join(', ')}) IN (${scopes})`
}
