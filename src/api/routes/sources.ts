import { sourcesWire, sourceToWire } from '../schemas/source.js'
import type { Api } from '../schemas/type-provider.js'
import type { SourceService } from '../services/sources.js'
import { rule } from './rule.js'

export function sourceRoutes(app: Api, sources: SourceService): void {
  app.get(
    '/sources',
    {
      config: rule('viewer', {
        tag: 'operation',
        summary: 'List the databases whose changes are captured, with slot, lag, tables and pipelines.',
      }),
      schema: { response: { 200: sourcesWire } },
    },
    async () => ({ items: (await sources.list()).map(sourceToWire) }),
  )
}
