import { authorOf } from '../auth/bearer.js'
import {
  choiceOf,
  fleetQuarantinePage,
  fleetQuarantineQuery,
  heldRowsToWire,
  settleBody,
  settledToWire,
  settledWire,
} from '../schemas/quarantine.js'
import type { Api } from '../schemas/type-provider.js'
import type { QuarantineService } from '../services/quarantine.js'
import { linkNext } from './links.js'
import { rule } from './rule.js'

const TAG = 'quarantine'

/** The quarantine of all pipelines. quarantine.ts has the routes for the rows of one pipeline. */
export function fleetQuarantineRoutes(app: Api, quarantine: QuarantineService): void {
  app.get(
    '/quarantine',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the quarantined rows of all pipelines, newest first.',
      }),
      schema: { querystring: fleetQuarantineQuery, response: { 200: fleetQuarantinePage } },
    },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const rows = await quarantine.list({ ...filter, pipelineId })
      linkNext(request, reply, rows.page.nextCursor)
      return heldRowsToWire(rows)
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
