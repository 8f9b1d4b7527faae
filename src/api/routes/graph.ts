import {
  changesBody,
  changesInput,
  graphToWire,
  graphWire,
  orderPlanToWire,
  orderPlanWire,
} from '../schemas/order.js'
import type { Api } from '../schemas/type-provider.js'
import type { OrderService } from '../services/order.js'
import { rule } from './rule.js'

/** A thousand pipelines with long queries; each is checked by the guard on its source. */
const BODY_LIMIT = 16 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000

export function graphRoutes(app: Api, order: OrderService): void {
  app.get(
    '/graph',
    {
      config: rule('viewer', {
        tag: 'lineage',
        summary: 'Get the run order of the pipelines, and which ones are due.',
        // 8 MB and a second for 10,000 pipelines: 40 at once took every connection of the API for 20 s.
        check: 'short',
      }),
      schema: { response: { 200: graphWire } },
    },
    async () => graphToWire(await order.graph()),
  )

  app.post(
    '/graph/validate',
    {
      bodyLimit: BODY_LIMIT,
      config: rule('operator', {
        tag: 'lineage',
        summary: 'Check whether changes of several pipelines together would create a cycle. Changes nothing.',
        check: 'short',
        body: changesInput,
      }),
      schema: { body: changesBody, response: { 200: orderPlanWire } },
    },
    async (request) => {
      const { pipelines, deleted } = request.body
      return orderPlanToWire(await order.plan(pipelines, deleted, AbortSignal.timeout(TIMEOUT_MS)))
    },
  )
}
