import {
  lineageQuery,
  lineageToWire,
  lineageWire,
  openLineageQuery,
  openLineageWire,
  pipelineLineageToWire,
  pipelineLineageWire,
} from '../schemas/lineage.js'
import { byId } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { LineageService } from '../services/lineage.js'
import { rule } from './rule.js'

const TAG = 'lineage'
/** An unavailable database uses up ten seconds of it. */
const TIMEOUT_MS = 25_000

export function lineageRoutes(app: Api, lineage: LineageService): void {
  app.get(
    '/lineage',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get the sources and targets of data, around one node or in total.',
        check: 'short',
        problems: [404],
      }),
      schema: { querystring: lineageQuery, response: { 200: lineageWire } },
    },
    async (request) => {
      const { node, ...rest } = request.query
      return lineageToWire(
        await lineage.graph({ ...rest, focus: node ?? null }, AbortSignal.timeout(TIMEOUT_MS)),
      )
    },
  )

  app.get(
    '/lineage/openlineage',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Export the pipelines as OpenLineage events.',
        check: 'short',
        problems: [404],
      }),
      schema: { querystring: openLineageQuery, response: { 200: openLineageWire } },
    },
    async (request) => [
      ...(await lineage.openLineage(request.query.pipeline ?? null, AbortSignal.timeout(TIMEOUT_MS))),
    ],
  )

  app.get(
    '/pipelines/:id/lineage',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get the sources of every column of a pipeline.',
        check: 'short',
        problems: [404],
      }),
      schema: { params: byId, response: { 200: pipelineLineageWire } },
    },
    async (request) =>
      pipelineLineageToWire(await lineage.ofPipeline(request.params.id, AbortSignal.timeout(TIMEOUT_MS))),
  )
}
