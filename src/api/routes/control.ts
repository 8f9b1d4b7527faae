import { isOver } from '../../model/status.js'
import { authorOf } from '../auth/bearer.js'
import {
  cancelQuery,
  noBody,
  pauseRequestedWire,
  runBody,
  runHeaders,
  runQuery,
  runRequestedWire,
} from '../schemas/control.js'
import { byId } from '../schemas/params.js'
import { runToWire, runWire } from '../schemas/run.js'
import type { Api } from '../schemas/type-provider.js'
import type { ControlService } from '../services/control.js'
import type { RunWaiter } from '../services/run-waiter.js'
import { enough } from './enough.js'
import { runUrl, statusUrl } from './links.js'
import { rule } from './rule.js'

const TAG = 'control'
const RUN_ID = { id: '$response.body#/run_id' }
const RUN_LINKS = {
  getRunsById: RUN_ID,
  getRunsByIdLog: RUN_ID,
  getRunsByIdBatches: RUN_ID,
  postRunsByIdCancel: RUN_ID,
}

/** 202, because a runner executes the request later. */
export function controlRoutes(app: Api, control: ControlService, waiter: RunWaiter): void {
  app.post(
    '/pipelines/:id/run',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Request a run. If a run is already requested or in progress, that run is returned.',
        problems: [404, 409],
        links: RUN_LINKS,
      }),
      schema: {
        params: byId,
        headers: runHeaders,
        querystring: runQuery,
        body: runBody,
        response: { 200: runRequestedWire, 202: runRequestedWire },
      },
    },
    async (request, reply) => {
      const { wait, with: wave } = request.query
      const input = {
        pipelineId: request.params.id,
        author: authorOf(request),
        externalRef: request.body?.external_ref,
        parent: request.body?.openlineage_parent,
        key: request.headers['idempotency-key'],
        events: request.events,
      }
      const requested = async () => {
        const { run, runs, status, replayed } =
          wave === undefined ? await control.requestRun(input) : await control.requestWave({ ...input, wave })
        const url = runUrl(run.id)
        if (replayed) reply.header('idempotent-replay', 'true')
        reply.header('location', url)
        const together = wave === undefined ? {} : { runs: runs.map(runToWire) }
        return { id: run.pipelineId, status, run_id: run.id, url, ...together }
      }
      if (wait === undefined) return reply.code(202).send(await requested())
      return waiter.inPlace(request.caller!.id, async () => {
        const answer = await requested()
        const seen = await waiter.untilOver(answer.run_id, enough(reply, wait))
        const now = await control.statusOf(answer.id)
        return reply
          .code(isOver(seen.status) ? 200 : 202)
          .send({ ...answer, status: now, run: runToWire(seen) })
      })
    },
  )

  app.post(
    '/pipelines/:id/pause',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Pause a running pipeline after its current batch.',
        problems: [404, 409],
      }),
      schema: { params: byId, body: noBody, response: { 202: pauseRequestedWire } },
    },
    async (request, reply) => {
      const { id, status } = await control.requestPause(request.params.id, authorOf(request), request.events)
      const url = statusUrl(id)
      return reply.code(202).header('location', url).send({ id, status, url })
    },
  )

  app.post(
    '/runs/:id/cancel',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Stop a run after its current batch and keep its checkpoint.',
        problems: [404],
      }),
      schema: { params: byId, querystring: cancelQuery, body: noBody, response: { 202: runWire } },
    },
    async (request, reply) => {
      const { force = false } = request.query
      const input = { author: authorOf(request), events: request.events, force }
      const run = await control.cancelRun(request.params.id, input)
      return reply.code(202).header('location', runUrl(run.id)).send(runToWire(run))
    },
  )
}
