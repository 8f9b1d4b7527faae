import { liveWire, readyWire } from '../schemas/health.js'
import type { Api } from '../schemas/type-provider.js'
import type { HealthService } from '../services/health.js'
import { rule } from './rule.js'

const TAG = 'operation'

export function healthRoutes(app: Api, health: HealthService): void {
  app.get(
    '/health',
    {
      config: rule('open', {
        tag: TAG,
        summary: 'Check that the process responds.',
        quiet: true,
        share: 'free',
      }),
      schema: { response: { 200: liveWire } },
    },
    async () => health.live(),
  )

  app.get(
    '/health/ready',
    {
      config: rule('open', {
        tag: TAG,
        summary: 'Check that the server is ready, and which component is down.',
        quiet: true,
        share: 'probe',
        problems: [429],
      }),
      schema: { response: { 200: readyWire, 503: readyWire } },
    },
    async (request, reply) => {
      const readiness = await health.ready(request.events)
      return reply.code(readiness.status === 'ok' ? 200 : 503).send(readiness)
    },
  )
}
