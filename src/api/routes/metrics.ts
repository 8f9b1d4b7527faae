import type { Api } from '../schemas/type-provider.js'
import type { MetricsService } from '../services/metrics.js'

export function metricsRoutes(app: Api, metrics: MetricsService): void {
  app.get('/metrics', { config: { quiet: true } }, async (request, reply) => {
    return reply.type(metrics.contentType).send(await metrics.text(request.events))
  })
}
