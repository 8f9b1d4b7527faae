import { z } from 'zod'
import { pageQueryUpTo } from '../schemas/page.js'
import { byId } from '../schemas/params.js'
import {
  batchPage,
  batchToWire,
  listRunsQuery,
  logLineToWire,
  logPage,
  logQuery,
  oneRunQuery,
  runDetailWire,
  runPage,
  runToWire,
} from '../schemas/run.js'
import type { Api } from '../schemas/type-provider.js'
import type { RunWaiter } from '../services/run-waiter.js'
import type { RunService } from '../services/runs.js'
import { enough } from './enough.js'
import { linkNext } from './links.js'
import { rule } from './rule.js'

const TAG = 'runs'
const batchesQuery = z.strictObject(pageQueryUpTo(1000))

export function runRoutes(app: Api, runs: RunService, waiter: RunWaiter): void {
  app.get(
    '/runs',
    {
      config: rule('viewer', TAG, 'Lists the runs of all pipelines, newest first.'),
      schema: { querystring: listRunsQuery, response: { 200: runPage } },
    },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const page = await runs.list({ ...filter, pipelineId })
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(runToWire), next_cursor: page.nextCursor }
    },
  )

  app.get(
    '/runs/:id',
    {
      config: rule('viewer', TAG, 'Shows a run with its last batches.', { problems: [404] }),
      schema: { params: byId, querystring: oneRunQuery, response: { 200: runDetailWire } },
    },
    async (request, reply) => {
      const { wait } = request.query
      if (wait !== undefined) await waiter.untilOver(request.params.id, enough(reply, wait))
      const { run, batches } = await runs.detail(request.params.id)
      return { ...runToWire(run), batch_history: batches.map(batchToWire) }
    },
  )

  app.get(
    '/runs/:id/log',
    {
      config: rule('viewer', TAG, 'Lists what the runners said about a run, oldest first.', {
        problems: [404],
      }),
      schema: { params: byId, querystring: logQuery, response: { 200: logPage } },
    },
    async (request, reply) => {
      const { errors_only: errors, ...page } = request.query
      const found = await runs.log(request.params.id, { ...page, errors })
      linkNext(request, reply, found.nextCursor)
      return { items: found.items.map(logLineToWire), next_cursor: found.nextCursor }
    },
  )

  app.get(
    '/runs/:id/batches',
    {
      config: rule('viewer', TAG, 'Lists the batches of a run, newest first.', { problems: [404] }),
      schema: { params: byId, querystring: batchesQuery, response: { 200: batchPage } },
    },
    async (request, reply) => {
      const page = await runs.batches(request.params.id, request.query)
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(batchToWire), next_cursor: page.nextCursor }
    },
  )
}
