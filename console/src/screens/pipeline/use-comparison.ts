import { useMutation } from '@tanstack/react-query'
import { pipelineActions } from '../../api/pipeline.js'
import type { Reconciliation } from '../../api/wire.js'
import { serverNow } from '../../time/clock.js'

export interface ComparisonState {
  /** Null: no comparison since the page was opened. */
  readonly found: { readonly result: Reconciliation; readonly at: string } | null
  readonly error: unknown
  readonly isPending: boolean
  readonly start: () => void
}

/** Compares all rows of the query with the mart. Started on request only: it reads everything. */
export function useComparison(id: string): ComparisonState {
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: async () => {
      const result = await pipelineActions.compareRows(id)
      return { result, at: new Date(serverNow()).toISOString() }
    },
  })
  return { found: data ?? null, error, isPending, start: () => mutate() }
}
