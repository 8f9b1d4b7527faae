import { statusToWire, statusWire } from '../schemas/control.js'
import { overviewQuery, overviewToWire, overviewWire } from '../schemas/overview.js'
import { byId } from '../schemas/params.js'
import {
  listPipelinesQuery,
  pipelinePage,
  pipelineToWire,
  pipelineWire,
  stateToWire,
  stateWire,
} from '../schemas/pipeline.js'
import { runPage, runsOfPipelineQuery, runToWire } from '../schemas/run.js'
import type { Api } from '../schemas/type-provider.js'
import type { PipelineService } from '../services/pipelines.js'
import { etag, linkNext, pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'pipelines'

export function pipelineRoutes(app: Api, pipelines: PipelineService): void {
  app.get(
    '/pipelines',
    {
      config: rule('viewer', { tag: TAG, summary: 'List pipelines by name.' }),
      schema: { querystring: listPipelinesQuery, response: { 200: pipelinePage } },
    },
    async (request, reply) => {
      const page = await pipelines.list(request.query)
      return pageToWire(page, pipelineToWire, { request, reply })
    },
  )

  app.get(
    '/pipelines/overview',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List pipelines by name, with their status and recent runs.',
      }),
      schema: { querystring: overviewQuery, response: { 200: overviewWire } },
    },
    async (request, reply) => {
      const lines = await pipelines.lines(request.query)
      linkNext(request, reply, lines.page.nextCursor)
      return overviewToWire(lines)
    },
  )

  app.get(
    '/pipelines/:id',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get a pipeline with its tasks. Send its ETag as If-Match to change it.',
        problems: [404],
      }),
      schema: { params: byId, response: { 200: pipelineWire } },
    },
    async (request, reply) => {
      const pipeline = await pipelines.get(request.params.id)
      reply.header('etag', etag(pipeline))
      return pipelineToWire(pipeline)
    },
  )

  app.get(
    '/pipelines/:id/status',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get the status of a pipeline with its current and its last run.',
        problems: [404],
      }),
      schema: { params: byId, response: { 200: statusWire } },
    },
    async (request) => statusToWire(await pipelines.overview(request.params.id)),
  )

  app.get(
    '/pipelines/:id/state',
    {
      config: rule('viewer', { tag: TAG, summary: 'Get the checkpoint.', problems: [404] }),
      schema: { params: byId, response: { 200: stateWire } },
    },
    async (request) => stateToWire(await pipelines.state(request.params.id)),
  )

  app.get(
    '/pipelines/:id/runs',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the runs of a pipeline, newest first.',
        problems: [404],
      }),
      schema: { params: byId, querystring: runsOfPipelineQuery, response: { 200: runPage } },
    },
    async (request, reply) => {
      const page = await pipelines.runs(request.params.id, request.query)
      return pageToWire(page, runToWire, { request, reply })
    },
  )
}
