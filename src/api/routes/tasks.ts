import type { TransformCatalog } from '../../ports/transforms.js'
import { transformListToWire, transformListWire } from '../schemas/transform.js'
import type { Api } from '../schemas/type-provider.js'
import { rule } from './rule.js'

export function taskRoutes(app: Api, transforms: TransformCatalog): void {
  app.get(
    '/tasks',
    {
      config: rule('viewer', {
        tag: 'inspection',
        summary: 'List the functions that a task plan can use now.',
      }),
      schema: { response: { 200: transformListWire } },
    },
    async () => transformListToWire(await transforms.list()),
  )
}
