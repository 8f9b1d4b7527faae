import { liveWire, readyWire } from '../schemas/health.js'
import type { Api } from '../schemas/type-provider.js'
import type { HealthService } from '../services/health.js'

const PROBE = { open: true, quiet: true }

export function healthRoutes(app: Api, health: HealthService): void {
  app.get('/health', { config: PROBE, schema: { response: { 200: liveWire } } }, async () => health.live())

  app.get(
    '/health/ready',
    { config: PROBE, schema: { response: { 200: readyWire, 503: readyWire } } },
    async (request, reply) => {
      const readiness = await health.ready(request.events)
      return reply.code(readiness.status === 'ok' ? 200 : 503).send(readiness)
    },
  )
}
