import { queryOptions } from '@tanstack/react-query'
import { setServerTime } from '../time/clock.js'
import { api, ask } from './client.js'
import type { Overview, PipelineStatus } from './wire.js'

export interface OverviewFilter {
  readonly q?: string
  readonly status?: PipelineStatus
  readonly enabled?: boolean
  /** The start of the target. */
  readonly target?: string
  readonly tag?: string
}

/** The maximum of the server: a list of a thousand is one request. */
const PAGE = 1000
/** Events update the lines; this refreshes data that no event contains, such as the next scheduled run. */
const REFRESH_MS = 60_000

export const OVERVIEW_KEY = ['pipelines', 'overview'] as const

export function overviewQuery(filter: OverviewFilter = {}) {
  return queryOptions({
    queryKey: [...OVERVIEW_KEY, filter],
    queryFn: async ({ signal }): Promise<Overview> => {
      const { enabled, ...rest } = filter
      const query = { ...rest, limit: PAGE, ...(enabled === undefined ? {} : { enabled: String(enabled) }) }
      const overview = await ask(
        api.GET('/pipelines/overview', { params: { query: query as never }, signal }),
      )
      setServerTime(overview.summary.now)
      return overview
    },
    refetchInterval: REFRESH_MS,
  })
}
