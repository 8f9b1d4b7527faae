import type { Api } from '../schemas/type-provider.js'
import type { MetricsService } from '../services/metrics.js'
import { rule } from './rule.js'

export function metricsRoutes(app: Api, metrics: MetricsService): void {
  const config = rule('viewer', 'operation', 'Metrics for Prometheus.', { quiet: true, media: 'text/plain' })
  app.get('/metrics', { config }, async (request, reply) => {
    return reply.type(metrics.contentType).send(await metrics.text(request.events))
  })
}
