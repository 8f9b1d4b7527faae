import { queryOptions } from '@tanstack/react-query'
import { setServerTime } from '../time/clock.js'
import { api, ask } from './client.js'
import type { Overview, PipelineStatus } from './wire.js'

export interface OverviewFilter {
  readonly q?: string
  readonly status?: PipelineStatus
  readonly enabled?: boolean
  /** How the target begins. */
  readonly target?: string
}

/** As many as the server gives at once: a list of a thousand is one request. */
const PAGE = 1000
/** Events patch the lines; this mends what no event tells, such as the next run of a schedule. */
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
