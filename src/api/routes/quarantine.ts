import { authorOf } from '../auth/bearer.js'
import { noBody } from '../schemas/control.js'
import { byId, byRow } from '../schemas/params.js'
import {
  choiceOf,
  fleetQuarantinePage,
  fleetQuarantineQuery,
  heldRowsToWire,
  listQuarantineQuery,
  quarantinedToWire,
  quarantinedWire,
  quarantinePage,
  replayWire,
  settleBody,
  settledToWire,
  settledWire,
} from '../schemas/quarantine.js'
import type { Api } from '../schemas/type-provider.js'
import type { QuarantineService } from '../services/quarantine.js'
import { linkNext, pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'quarantine'
const FIRST_ROW = { id: '$request.path.id', row_id: '$response.body#/items/0/id' }
const ROW_LINKS = {
  postPipelinesByIdQuarantineByRowIdReplay: FIRST_ROW,
  postPipelinesByIdQuarantineByRowIdDiscard: FIRST_ROW,
}

export function quarantineRoutes(app: Api, quarantine: QuarantineService): void {
  pipelineQuarantineRoutes(app, quarantine)
  fleetRoutes(app, quarantine)
}

/** The rows of one pipeline. */
function pipelineQuarantineRoutes(app: Api, quarantine: QuarantineService): void {
  app.get(
    '/pipelines/:id/quarantine',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the quarantined rows of a pipeline, newest first. A viewer gets them without values.',
        problems: [404],
        links: ROW_LINKS,
      }),
      schema: { params: byId, querystring: listQuarantineQuery, response: { 200: quarantinePage } },
    },
    async (request, reply) => {
      const page = await quarantine.listOf(request.params.id, request.query)
      const { role } = request.caller!
      return pageToWire(page, (row) => quarantinedToWire(row, role), { request, reply })
    },
  )

  app.post(
    '/pipelines/:id/quarantine/:row_id/replay',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Request a run that retries the row.',
        problems: [404, 409],
      }),
      schema: { params: byRow, body: noBody, response: { 202: replayWire } },
    },
    async (request, reply) => {
      const { row, run } = await quarantine.replay(
        request.params.id,
        request.params.row_id,
        authorOf(request),
      )
      if (run !== null) request.events.runRequested(run)
      return reply.code(202).send({
        ...quarantinedToWire(row, request.caller!.role),
        replay_run_id: run?.id ?? null,
      })
    },
  )

  app.post(
    '/pipelines/:id/quarantine/:row_id/discard',
    {
      config: rule('operator', { tag: TAG, summary: 'Discard the row.', problems: [404, 409] }),
      schema: { params: byRow, body: noBody, response: { 200: quarantinedWire } },
    },
    async (request) => {
      const { id, row_id } = request.params
      return quarantinedToWire(await quarantine.discard(id, row_id, authorOf(request)), request.caller!.role)
    },
  )
}

/** The rows of all pipelines. */
function fleetRoutes(app: Api, quarantine: QuarantineService): void {
  app.get(
    '/quarantine',
    {
      config: rule('viewer', {
        tag: TAG,
        summary:
          'List the quarantined rows of all pipelines, newest first. A viewer gets them without values.',
      }),
      schema: { querystring: fleetQuarantineQuery, response: { 200: fleetQuarantinePage } },
    },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const rows = await quarantine.list({ ...filter, pipelineId })
      linkNext(request, reply, rows.page.nextCursor)
      return heldRowsToWire(rows, request.caller!.role)
    },
  )

  app.post(
    '/quarantine/replay',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Request runs that retry rows, and list the rows that cannot be retried.',
      }),
      schema: { body: settleBody, response: { 202: settledWire } },
    },
    async (request, reply) => {
      const choice = choiceOf(request.body)
      const settled = await quarantine.settle(choice, 'REPLAY_REQUESTED', authorOf(request))
      for (const { run } of settled.pipelines) if (run !== null) request.events.runRequested(run)
      return reply.code(202).send(settledToWire(settled))
    },
  )

  app.post(
    '/quarantine/discard',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Discard rows, and list the rows that cannot be discarded.',
      }),
      schema: { body: settleBody, response: { 200: settledWire } },
    },
    async (request) =>
      settledToWire(await quarantine.settle(choiceOf(request.body), 'DISCARDED', authorOf(request))),
  )
}
