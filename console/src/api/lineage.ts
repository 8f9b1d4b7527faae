import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { LineageGraph } from './wire.js'

export const LINEAGE_KEY = ['lineage'] as const

export interface LineageQuestion {
  readonly node?: string | undefined
  readonly up?: number | undefined
  readonly down?: number | undefined
  readonly level?: 'table' | 'column' | undefined
}

/** Without a node: all pipelines. Queries and catalogs rarely change; events about them trigger another request. */
export function lineageQuery({ node, up, down, level }: LineageQuestion = {}) {
  const text = (hops: number | undefined) => (hops === undefined ? undefined : String(hops))
  const query = { node, up: text(up), down: text(down), level }
  return queryOptions({
    queryKey: [...LINEAGE_KEY, query],
    queryFn: ({ signal }): Promise<LineageGraph> =>
      ask(api.GET('/lineage', { params: { query: query as never }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
}

/** One pipeline or all of them, as OpenLineage events. */
export async function openLineageText(pipeline: string | undefined): Promise<string> {
  const events = await ask(api.GET('/lineage/openlineage', { params: { query: { pipeline } as never } }))
  return `${JSON.stringify(events, null, 2)}\n`
}
