import { graphToWire, graphWire } from '../schemas/order.js'
import type { Api } from '../schemas/type-provider.js'
import type { OrderService } from '../services/order.js'
import { rule } from './rule.js'

export function graphRoutes(app: Api, order: OrderService): void {
  app.get(
    '/graph',
    {
      config: rule('viewer', {
        tag: 'lineage',
        summary: 'Get which pipelines follow which, and what is due.',
        // 8 MB and a second for 10,000 pipelines: 40 at once took every connection of the API for 20 s.
        check: 'short',
      }),
      schema: { response: { 200: graphWire } },
    },
    async () => graphToWire(await order.graph()),
  )
}
