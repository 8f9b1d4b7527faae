import type { FastifyRequest } from 'fastify'
import type { Api } from '../schemas/type-provider.js'
import { addressGroup, clientAddress } from './client-address.js'
import { RateLimit } from './rate-limit.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Which share of an address an open route uses; not given: the one for open routes. `files`: a larger one,
     * because a page of the console loads dozens of files. `probe`: a separate one, so that no other traffic fails a
     * health check. `free`: not limited.
     */
    share?: 'files' | 'probe' | 'free'
  }
}

/** How many times the usual limit files may be loaded, and the minimum. */
const FILES_FACTOR = 10
const FEWEST_FILES = 6_000

/** Open routes are limited too, per address, before anything is looked up or read. */
export function limitOpenRoutes(app: Api, perMinute: number): void {
  const usual = new RateLimit(perMinute)
  const limits = {
    open: usual,
    files: new RateLimit(Math.max(perMinute * FILES_FACTOR, FEWEST_FILES)),
    probe: usual,
  }
  app.addHook('onRequest', async (request) => {
    const share = shareOf(request)
    if (share !== null) limits[share].take(`${share} ${addressGroup(clientAddress(request))}`)
  })
}

/** Null: not limited here, because it is free or behind a token, where the limit of the caller applies. */
function shareOf(request: FastifyRequest): 'open' | 'files' | 'probe' | null {
  const { access, share = 'open' } = request.routeOptions.config
  if (access !== 'open') return request.is404 ? 'open' : null
  return share === 'free' ? null : share
}
