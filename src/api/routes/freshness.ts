import { freshnessToWire, freshnessWire } from '../schemas/freshness.js'
import { byId } from '../schemas/params.js'
import type { Api } from '../schemas/type-provider.js'
import type { FreshnessService } from '../services/freshness.js'
import { rule } from './rule.js'

export function freshnessRoutes(app: Api, freshness: FreshnessService): void {
  app.get(
    '/pipelines/:id/freshness',
    {
      config: rule('viewer', {
        tag: 'pipelines',
        summary: 'Get the age of the data, how old it may become, and why it is too old.',
        problems: [404],
      }),
      schema: { params: byId, response: { 200: freshnessWire } },
    },
    async ({ params }) => freshnessToWire(await freshness.get(params.id)),
  )
}
