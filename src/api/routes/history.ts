import { auditCsv } from '../schemas/audit-csv.js'
import {
  auditCsvQuery,
  auditPage,
  auditToWire,
  listAuditQuery,
  runnersWire,
  runnerToWire,
  toAuditFilter,
} from '../schemas/history.js'
import type { Api } from '../schemas/type-provider.js'
import type { HistoryService } from '../services/history.js'
import type { Downloads } from './downloads.js'
import { pageToWire } from './links.js'
import { rule } from './rule.js'

export function historyRoutes(app: Api, history: HistoryService, downloads: Downloads): void {
  app.get(
    '/runners',
    {
      config: rule('viewer', { tag: 'operation', summary: 'List runners and the pipelines they hold.' }),
      schema: { response: { 200: runnersWire } },
    },
    async () => ({ items: (await history.runners()).map(runnerToWire) }),
  )

  app.get(
    '/audit',
    {
      config: rule('admin', {
        tag: 'access',
        summary: 'List the entries of the audit log, newest first. Entries are immutable.',
      }),
      schema: { querystring: listAuditQuery, response: { 200: auditPage } },
    },
    async (request, reply) => {
      const { limit, cursor, ...filter } = request.query
      const page = await history.audit({ limit, cursor, ...toAuditFilter(filter) })
      return pageToWire(page, auditToWire, { request, reply })
    },
  )

  app.get(
    '/audit.csv',
    {
      config: rule('admin', {
        tag: 'access',
        summary: 'Export the whole audit log as CSV, newest first.',
        media: 'text/csv',
      }),
      schema: { querystring: auditCsvQuery },
    },
    async (request, reply) => {
      const entries = history.everyAudit(toAuditFilter(request.query))
      return downloads.send(request, reply, {
        ...{ type: 'text/csv', name: 'vitrina-audit.csv' },
        parts: auditCsv(entries),
      })
    },
  )
}
