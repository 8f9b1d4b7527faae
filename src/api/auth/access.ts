import type { Role } from '../../model/access.js'
import type { Api } from '../schemas/type-provider.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The lowest role that may call a route; open: no token needed. */
    access?: Role | 'open'
    /** A session is not enough: the result of the route would outlive it. */
    bearerOnly?: true
  }
}

/** A route without a rule does not start: a forgotten rule must not leave a route open. */
export function requireRules(app: Api): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined)
      throw new Error(`${[method].flat().join(', ')} ${url} has no access rule`)
  })
}
