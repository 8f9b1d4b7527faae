import { VitrinaError } from '../../model/errors.js'
import type { TransformChain } from '../../ports/transforms.js'
import type { ScopeTrace } from '../../scopes/index.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { Column } from '../../sql/selection.js'

/** Types whose values a function returns with the same text unless it has changed them. */
const PLAIN = /^(smallint|integer|bigint|text|character varying(\(\d+\))?|uuid|boolean|date)$/

/**
 * Changes name rows of the source, and rows of the mart are found by the same values. If a function changed these, a row
 * that is deleted in the source would stay in the mart unnoticed, so that it is refused when it is first seen.
 */
export function withKeptScopes(
  chain: TransformChain,
  trace: ScopeTrace,
  columns: readonly Column[],
): TransformChain {
  const scope = trace.traced ? trace.scope.filter(({ type }) => PLAIN.test(type)).map(({ name }) => name) : []
  const before = scope.map((name) => columns.findIndex((column) => column.name === name))
  const after = scope.map((name) => chain.columns.findIndex((column) => column.name === name))
  const valuesOf = ({ rows }: RowBatch, places: readonly number[]) =>
    rows.map((row) => JSON.stringify(places.map((place) => row[place] ?? null)))
  return {
    columns: chain.columns,
    segments: chain.segments,
    close: () => chain.close(),
    run: async (batch) => {
      const result = await chain.run(batch)
      if (scope.length === 0) return result
      const given = new Set(valuesOf(batch, before))
      const other = valuesOf(result, after).find((values) => !given.has(values))
      if (other === undefined) return result
      throw new VitrinaError(
        'TRANSFORM_RESULT',
        `A transform changed (${scope.join(', ')}): it returned ${other}, which none of its rows had. With capture "wal" rows of the mart are found by these values of the source.`,
        `Compute ${scope.join(', ')} in the query, or use mode "full".`,
      )
    },
  }
}
