import type { z } from 'zod'
import type { RouteDoc } from '../routes/rule.js'
import type { Api } from '../schemas/type-provider.js'

/** A route as it was registered. */
export interface CollectedRoute {
  readonly method: string
  readonly url: string
  readonly access: string
  readonly doc: RouteDoc
  readonly schema: {
    readonly params?: z.ZodType
    readonly querystring?: z.ZodType
    readonly headers?: z.ZodType
    readonly body?: z.ZodType
    readonly response?: Readonly<Record<string, z.ZodType>>
  }
}

/** Records every documented route under the prefix. Must be registered before the routes. */
export function collectRoutes(app: Api, prefix: string): readonly CollectedRoute[] {
  const routes: CollectedRoute[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (config?.doc === undefined || !url.startsWith(`${prefix}/`)) return
    for (const each of [method].flat().filter((name) => name !== 'HEAD'))
      routes.push({
        method: each.toLowerCase(),
        url: url.slice(prefix.length),
        access: config.access ?? 'admin',
        doc: config.doc,
        schema: (schema ?? {}) as CollectedRoute['schema'],
      })
  })
  return routes
}
