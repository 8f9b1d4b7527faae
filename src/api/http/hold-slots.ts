import type { FastifyRequest } from 'fastify'
import type { Api } from '../schemas/type-provider.js'
import { type CheckLimits, CheckSlots } from '../services/check-slots.js'

/**
 * A check that ends within seconds, or a comparison of all rows, which may take half an hour. A change of a pipeline is
 * checked too, before it is saved: 200 at once took every connection of the reader.
 */
type CheckLength = 'short' | 'long' | 'save'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route opens sessions on sources and marts: only a limited number run at the same time. */
    check?: CheckLength | ((request: FastifyRequest) => CheckLength)
  }
}

/** A script that creates a hundred pipelines at the same time wants them created, not to try again. */
const SAVES_WAITING_PER_SLOT = 40
const SAVE_TIMEOUT_MS = 30_000

/**
 * Wraps the handlers of checks, so that none runs without a slot. Long checks and changes have their own slots: a
 * comparison does not block a preview, nor a preview a change.
 */
export function holdSlots(app: Api, limits: CheckLimits): void {
  const slots = {
    short: new CheckSlots(limits),
    long: new CheckSlots(limits),
    save: new CheckSlots({ timeoutMs: SAVE_TIMEOUT_MS, waitingPerSlot: SAVES_WAITING_PER_SLOT, ...limits }),
  }
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
