import { checkList, checkPage, checkToWire, listChecksQuery } from '../schemas/check.js'
import { noBody } from '../schemas/control.js'
import { byId } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { DataCheckService } from '../services/data-checks.js'
import { pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'checks'
/** Each check may take a minute. */
const TIMEOUT_MS = 30 * 60_000

export function dataCheckRoutes(app: Api, checks: DataCheckService): void {
  app.get(
    '/checks',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the data checks of all pipelines with their last results, by pipeline.',
      }),
      schema: { querystring: listChecksQuery, response: { 200: checkPage } },
    },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const page = await checks.list({ ...filter, pipelineId })
      return pageToWire(page, checkToWire, { request, reply })
    },
  )

  app.get(
    '/pipelines/:id/checks',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the data checks of a pipeline with their last results.',
        problems: [404],
      }),
      schema: { params: byId, response: { 200: checkList } },
    },
    async (request) => ({ items: (await checks.ofPipeline(request.params.id)).map(checkToWire) }),
  )

  app.post(
    '/pipelines/:id/checks/run',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Evaluate the data checks over the rows that the mart has now. Changes no row.',
        check: 'long',
        problems: [404, 422],
      }),
      schema: { params: byId, body: noBody, response: { 200: checkList } },
    },
    async (request) => ({
      items: (await checks.run(request.params.id, AbortSignal.timeout(TIMEOUT_MS))).map(checkToWire),
    }),
  )
}
