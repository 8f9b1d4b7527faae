import { noBody, pauseRequestedWire, runRequestedWire, statusToWire, statusWire } from '../schemas/control.js'
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
import { linkNext, runUrl, statusUrl } from './links.js'

export function pipelineRoutes(app: Api, pipelines: PipelineService): void {
  app.get(
    '/pipelines',
    { schema: { querystring: listPipelinesQuery, response: { 200: pipelinePage } } },
    async (request, reply) => {
      const page = await pipelines.list(request.query)
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(pipelineToWire), next_cursor: page.nextCursor }
    },
  )

  app.get(
    '/pipelines/:id',
    { schema: { params: byId, response: { 200: pipelineWire } } },
    async (request, reply) => {
      const pipeline = await pipelines.get(request.params.id)
      reply.header('etag', `"${pipeline.configVersion}"`)
      return pipelineToWire(pipeline)
    },
  )

  app.get(
    '/pipelines/:id/status',
    { schema: { params: byId, response: { 200: statusWire } } },
    async (request) => statusToWire(await pipelines.overview(request.params.id)),
  )

  app.get(
    '/pipelines/:id/state',
    { schema: { params: byId, response: { 200: stateWire } } },
    async (request) => stateToWire(await pipelines.state(request.params.id)),
  )

  app.get(
    '/pipelines/:id/runs',
    { schema: { params: byId, querystring: runsOfPipelineQuery, response: { 200: runPage } } },
    async (request, reply) => {
      const page = await pipelines.runs(request.params.id, request.query)
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(runToWire), next_cursor: page.nextCursor }
    },
  )

  controlRoutes(app, pipelines)
}

/** 202, because a runner does what is asked for here, some time later. */
function controlRoutes(app: Api, pipelines: PipelineService): void {
  app.post(
    '/pipelines/:id/run',
    { schema: { params: byId, body: noBody, response: { 202: runRequestedWire } } },
    async (request, reply) => {
      const { run, status } = await pipelines.requestRun(request.params.id, request.events)
      const url = runUrl(run.id)
      return reply.code(202).header('location', url).send({ id: run.pipelineId, status, run_id: run.id, url })
    },
  )

  app.post(
    '/pipelines/:id/pause',
    { schema: { params: byId, body: noBody, response: { 202: pauseRequestedWire } } },
    async (request, reply) => {
      const { id, status } = await pipelines.requestPause(request.params.id, request.events)
      const url = statusUrl(id)
      return reply.code(202).header('location', url).send({ id, status, url })
    },
  )
}
