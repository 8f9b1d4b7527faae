import type { Role } from '../../model/access.js'
import type { Api } from '../schemas/type-provider.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The least role that may call a route; open: anybody, without a token. */
    access?: Role | 'open'
    /** A session is not enough: what the route gives would outlive it. */
    bearerOnly?: true
  }
}

/** A route without a rule does not start: forgetting one must not open a door. */
export function requireRules(app: Api): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined)
      throw new Error(`${[method].flat().join(', ')} ${url} has no access rule`)
  })
}
