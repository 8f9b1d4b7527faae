import {
  profileQuery,
  profileToWire,
  profileWire,
  rowsQuery,
  rowsToWire,
  rowsWire,
} from '../schemas/mart-data.js'
import { byId } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { MartDataService } from '../services/mart-data.js'
import { rule } from './rule.js'

const TAG = 'inspection'
/** Longer than the limits of the statements, which report more precisely what took so long. */
const TIMEOUT_MS = 25_000

export function martDataRoutes(app: Api, data: MartDataService): void {
  app.get(
    '/pipelines/:id/rows',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'List rows of the mart, sorted and filtered. Only marts in PostgreSQL.',
        check: 'short',
        problems: [404, 409],
      }),
      schema: { params: byId, querystring: rowsQuery, response: { 200: rowsWire } },
    },
    async (request) =>
      rowsToWire(await data.rows(request.params.id, request.query, AbortSignal.timeout(TIMEOUT_MS))),
  )

  app.get(
    '/pipelines/:id/profile',
    {
      config: rule('operator', {
        tag: TAG,
        summary:
          'Get a profile of each column of the mart: the stored one, or a new one if none is stored or `refresh` is true.',
        check: 'short',
        problems: [404, 409],
      }),
      schema: { params: byId, querystring: profileQuery, response: { 200: profileWire } },
    },
    async (request) => {
      const { refresh } = request.query
      return profileToWire(
        await data.profile(request.params.id, { refresh, signal: AbortSignal.timeout(TIMEOUT_MS) }),
      )
    },
  )
}
