import { restoreBody } from '../schemas/control.js'
import { versionPage, versionToWire, versionWire } from '../schemas/history.js'
import { plainPage } from '../schemas/page.js'
import { byId, byVersion } from '../schemas/params.js'
import { ownerQuery, pipelineWire } from '../schemas/pipeline.js'
import type { Api } from '../schemas/type-provider.js'
import type { EditService } from '../services/edit.js'
import type { PipelineService } from '../services/pipelines.js'
import { answerWithPipeline, editOf, mannerOf } from './edit.js'
import { pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'versions'

export function versionRoutes(app: Api, edit: EditService, pipelines: PipelineService): void {
  app.get(
    '/pipelines/:id/versions',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the configuration versions of a pipeline, newest first.',
        problems: [404],
      }),
      schema: { params: byId, querystring: plainPage, response: { 200: versionPage } },
    },
    async (request, reply) => {
      const { id } = await pipelines.get(request.params.id)
      const page = await edit.versions(id, request.query)
      return pageToWire(page, versionToWire, { request, reply })
    },
  )

  app.get(
    '/pipelines/:id/versions/:version',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Get one version with its difference from the previous one.',
        problems: [404],
      }),
      schema: { params: byVersion, response: { 200: versionWire } },
    },
    async (request) => {
      const { id } = await pipelines.get(request.params.id)
      return versionToWire(await edit.version(id, request.params.version))
    },
  )

  app.post(
    '/pipelines/:id/versions/:version/restore',
    {
      config: rule('admin', {
        tag: TAG,
        summary: 'Restore an earlier version, as a new version.',
        check: 'save',
        problems: [404, 409, 412],
      }),
      schema: {
        params: byVersion,
        querystring: ownerQuery,
        body: restoreBody,
        response: { 200: pipelineWire },
      },
    },
    async (request, reply) => {
      const { id } = await pipelines.get(request.params.id)
      const resetCheckpoint = request.body?.reset_checkpoint
      const pipeline = await edit.restore(
        { ...editOf(request), ...mannerOf(request.query), id },
        request.params.version,
        resetCheckpoint,
      )
      request.events.configured('pipeline.restore', pipeline)
      return answerWithPipeline(reply, pipeline)
    },
  )
}
