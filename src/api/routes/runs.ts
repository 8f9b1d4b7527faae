import { byId } from '../schemas/params.js'
import { listRunsQuery, runPage, runToWire, runWire } from '../schemas/run.js'
import type { Api } from '../schemas/type-provider.js'
import type { RunService } from '../services/runs.js'
import { linkNext } from './links.js'

export function runRoutes(app: Api, runs: RunService): void {
  app.get(
    '/runs',
    { schema: { querystring: listRunsQuery, response: { 200: runPage } } },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const page = await runs.list({ ...filter, pipelineId })
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(runToWire), next_cursor: page.nextCursor }
    },
  )

  app.get('/runs/:id', { schema: { params: byId, response: { 200: runWire } } }, async (request) =>
    runToWire(await runs.get(request.params.id)),
  )
}
