import { auditPage, auditToWire, listAuditQuery, runnersWire, runnerToWire } from '../schemas/history.js'
import type { Api } from '../schemas/type-provider.js'
import type { HistoryService } from '../services/history.js'
import { linkNext } from './links.js'
import { rule } from './rule.js'

export function historyRoutes(app: Api, history: HistoryService): void {
  app.get(
    '/runners',
    {
      config: rule('viewer', 'operation', 'Shows the fleet: who lives, and who holds what.'),
      schema: { response: { 200: runnersWire } },
    },
    async () => ({ items: (await history.runners()).map(runnerToWire) }),
  )

  app.get(
    '/audit',
    {
      config: rule('admin', 'access', 'Lists who changed what, newest first. Nothing in it can be changed.'),
      schema: { querystring: listAuditQuery, response: { 200: auditPage } },
    },
    async (request, reply) => {
      const { target_id: targetId, ...filter } = request.query
      const page = await history.audit({ ...filter, targetId })
      linkNext(request, reply, page.nextCursor)
      return { items: page.items.map(auditToWire), next_cursor: page.nextCursor }
    },
  )
}
