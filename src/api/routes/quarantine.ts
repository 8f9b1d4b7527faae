import { authorOf } from '../auth/bearer.js'
import { noBody } from '../schemas/control.js'
import {
  listQuarantineQuery,
  quarantinedToWire,
  quarantinedWire,
  quarantinePage,
  replayWire,
} from '../schemas/history.js'
import { byId, byRow } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { ControlService } from '../services/control.js'
import type { HistoryService } from '../services/history.js'
import { linkNext } from './links.js'
import { rule } from './rule.js'

const TAG = 'quarantine'
const FIRST_ROW = { id: '$request.path.id', row_id: '$response.body#/items/0/id' }
const ROW_LINKS = {
  postPipelinesByIdQuarantineByRowIdReplay: FIRST_ROW,
  postPipelinesByIdQuarantineByRowIdDiscard: FIRST_ROW,
}

export function quarantineRoutes(app: Api, history: HistoryService, control: ControlService): void {
  app.get(
    '/pipelines/:id/quarantine',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the quarantined rows of a pipeline, newest first.',
        problems: [404],
        links: ROW_LINKS,
      }),
      schema: { params: byId, querystring: listQuarantineQuery, response: { 200: quarantinePage } },
    },
    async (request, reply) => {
      const page = await history.quarantine(request.params.id, request.query)
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(quarantinedToWire), next_cursor: page.nextCursor }
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
      const { row, run } = await control.replay(request.params.id, request.params.row_id, authorOf(request))
      if (run !== null) request.events.runRequested(run)
      return reply.code(202).send({ ...quarantinedToWire(row), replay_run_id: run?.id ?? null })
    },
  )

  app.post(
    '/pipelines/:id/quarantine/:row_id/discard',
    {
      config: rule('operator', { tag: TAG, summary: 'Discard the row.', problems: [404, 409] }),
      schema: { params: byRow, body: noBody, response: { 200: quarantinedWire } },
    },
    async (request) =>
      quarantinedToWire(await control.discard(request.params.id, request.params.row_id, authorOf(request))),
  )
}
