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
      }),
      schema: { response: { 200: graphWire } },
    },
    async () => graphToWire(await order.graph()),
  )
}
