import type { FastifyRequest } from 'fastify'
import type { Api } from '../schemas/type-provider.js'
import { type CheckLimits, CheckSlots } from '../services/check-slots.js'

/** A check that ends within seconds, or a comparison of all rows, which may take half an hour. */
type CheckLength = 'short' | 'long'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route opens sessions on sources and marts: only a limited number run at the same time. */
    check?: CheckLength | ((request: FastifyRequest) => CheckLength)
  }
}

/**
 * Wraps the handlers of checks, so that none runs without a slot. Long checks have their own slots and do not block
 * short ones.
 */
export function holdSlots(app: Api, limits: CheckLimits): void {
  const slots = { short: new CheckSlots(limits), long: new CheckSlots(limits) }
  app.addHook('onRoute', (route) => {
    const check = route.config?.check
    if (check === undefined) return
    const { handler } = route
    route.handler = function (request, reply) {
      const length = typeof check === 'function' ? check(request as FastifyRequest) : check
      return slots[length].run(request.caller!.id, async () => handler.call(this, request, reply))
    }
  })
}
