import { z } from 'zod'
import type { Api } from '../schemas/type-provider.js'
import type { MetricsService } from '../services/metrics.js'
import { rule } from './rule.js'

const metricsQuery = z.strictObject({
  pipelines: z
    .enum(['all', 'none'])
    .optional()
    .describe(
      'Which pipelines have their own series. Absent: the first METRICS_MAX_PIPELINES; the others are counted together.',
    ),
})

export function metricsRoutes(app: Api, metrics: MetricsService): void {
  const config = rule('viewer', {
    tag: 'operation',
    summary: 'Get metrics for Prometheus.',
    quiet: true,
    media: 'text/plain',
  })
  app.get('/metrics', { config, schema: { querystring: metricsQuery } }, async (request, reply) => {
    const text = await metrics.text(request.events, request.query.pipelines)
    return reply.type(metrics.contentType).send(text)
  })
}
