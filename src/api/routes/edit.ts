import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Manager, Pipeline } from '../../model/pipeline.js'
import { authorOf } from '../auth/bearer.js'
import { noBody, reloadWire, resetBody } from '../schemas/control.js'
import { byId } from '../schemas/params.js'
import {
  dryRunToWire,
  editedWire,
  editQuery,
  ownerQuery,
  type PipelineWire,
  pipelineToWire,
  pipelineWire,
  stateToWire,
  stateWire,
} from '../schemas/pipeline.js'
import { pipelineInput, pipelinePatch } from '../schemas/pipeline-input.js'
import type { Api } from '../schemas/type-provider.js'
import type { EditManner } from '../services/dry-run.js'
import type { EditRequest, EditService } from '../services/edit.js'
import { etag, pipelineUrl } from './links.js'
import { rule } from './rule.js'

const TAG = 'configuration'
/** The service reads the body field by field, so that all mistakes are reported together. */
const anyObject = z.record(z.string(), z.unknown())
const CREATED = { id: '$response.body#/id' }
const CREATED_LINKS = {
  getPipelinesById: CREATED,
  patchPipelinesById: CREATED,
  postPipelinesByIdRun: CREATED,
  getPipelinesByIdReconcile: CREATED,
  postPipelinesByIdVersionsByVersionRestore: { ...CREATED, version: '$response.body#/config_version' },
  deletePipelinesById: CREATED,
}
const IF_MATCH = z.looseObject({
  'if-match': z
    .string()
    .optional()
    .describe('The ETag of the version that the change is based on. Absent: the current version is changed.'),
})

export function editRoutes(app: Api, edit: EditService): void {
  app.post(
    '/pipelines',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Create a pipeline.',
        check: 'save',
        problems: [409],
        body: pipelineInput,
        links: CREATED_LINKS,
      }),
      schema: { querystring: editQuery, body: anyObject, response: { 200: editedWire, 201: pipelineWire } },
    },
    async (request, reply) => {
      const create = () => edit.create(request.body, authorOf(request), mannerOf(request.query))
      if (request.query.dry_run) return dryRunToWire(await edit.dryRun(create))
      const pipeline = await create()
      request.events.configured('pipeline.create', pipeline)
      reply.code(201).header('location', pipelineUrl(pipeline.id))
      return answerWithPipeline(reply, pipeline)
    },
  )

  for (const [method, url] of [
    ['PATCH', '/pipelines/:id'],
    ['POST', '/pipelines/:id/update-config'],
  ] as const)
    app.route({
      method,
      url,
      config: rule('admin', {
        tag: TAG,
        summary: 'Change a pipeline: absent fields are kept, null restores the default (RFC 7396).',
        check: 'save',
        problems: [404, 409, 412],
        body: pipelinePatch,
      }),
      schema: {
        params: byId,
        headers: IF_MATCH,
        querystring: editQuery,
        body: anyObject,
        response: { 200: editedWire },
      },
      handler: async (request, reply) => {
        const patch = () => edit.patch({ ...editOf(request), ...mannerOf(request.query) }, request.body)
        if (request.query.dry_run) return dryRunToWire(await edit.dryRun(patch))
        const pipeline = await patch()
        request.events.configured('pipeline.change', pipeline)
        return answerWithPipeline(reply, pipeline)
      },
    })

  app.delete(
    '/pipelines/:id',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Delete a pipeline with its runs. The mart is kept.',
        problems: [404, 409, 412],
      }),
      schema: {
        params: byId,
        headers: IF_MATCH,
        querystring: ownerQuery,
        response: { 204: z.null().describe('Nothing.') },
      },
    },
    async (request, reply) => {
      await edit.remove({ ...editOf(request), ...mannerOf(request.query) })
      request.events.deleted(request.params.id)
      return reply.code(204).send(null)
    },
  )

  switchRoutes(app, edit)
  checkpointRoutes(app, edit)
}

function switchRoutes(app: Api, edit: EditService): void {
  for (const [verb, enabled, summary] of [
    ['enable', true, 'Allow runners to run a pipeline.'],
    ['disable', false, 'Prevent runners from starting a pipeline.'],
  ] as const)
    app.post(
      `/pipelines/:id/${verb}`,
      {
        config: rule('operator', { tag: TAG, summary: summary, problems: [404, 412] }),
        schema: { params: byId, headers: IF_MATCH, body: noBody, response: { 200: pipelineWire } },
      },
      async (request, reply) => {
        const pipeline = await edit.setEnabled(editOf(request), enabled)
        request.events.configured(`pipeline.${verb}`, pipeline)
        return answerWithPipeline(reply, pipeline)
      },
    )
}

function checkpointRoutes(app: Api, edit: EditService): void {
  app.post(
    '/pipelines/:id/reset',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Reset the checkpoint to the start, or set it to a value for a backfill.',
        problems: [404, 409],
      }),
      schema: { params: byId, body: resetBody, response: { 200: stateWire } },
    },
    async (request) => {
      const state = await edit.reset(request.params.id, authorOf(request), {
        lastProcessedKey: request.body?.last_processed_key ?? null,
        lastProcessedId: request.body?.last_processed_id ?? null,
      })
      return stateToWire(state)
    },
  )

  app.post(
    '/pipelines/:id/reload-config',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Get the version that a running pipeline applies at its next batch.',
        problems: [404],
      }),
      schema: { params: byId, body: noBody, response: { 202: reloadWire } },
    },
    async (request, reply) => {
      const { configVersion } = await edit.reload(request.params.id, authorOf(request))
      return reply.code(202).send({ config_version: configVersion })
    },
  )
}

export function editOf(request: FastifyRequest<{ Params: { id: string } }>): EditRequest {
  return { id: request.params.id, author: authorOf(request), ifMatch: request.headers['if-match'] }
}

interface MannerQuery {
  readonly dry_run?: boolean
  readonly take_over: boolean
  readonly managed_by?: Manager
}

export function mannerOf({ dry_run, take_over, managed_by }: MannerQuery): EditManner {
  return { dryRun: dry_run, takeOver: take_over, from: managed_by }
}

export function answerWithPipeline(reply: FastifyReply, pipeline: Pipeline): PipelineWire {
  reply.header('etag', etag(pipeline))
  return pipelineToWire(pipeline)
}
