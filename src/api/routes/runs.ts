import { z } from 'zod'
import type { RunLogLine } from '../../model/history.js'
import { visibleLine } from '../../model/text.js'
import { pageQueryUpTo } from '../schemas/page.js'
import { byId } from '../schemas/params.js'
import {
  batchPage,
  batchToWire,
  listRunsQuery,
  logLineToWire,
  logPage,
  logQuery,
  logTextQuery,
  oneRunQuery,
  partPage,
  partToWire,
  runDetailToWire,
  runDetailWire,
  runPage,
  runToWire,
} from '../schemas/run.js'
import type { Api } from '../schemas/type-provider.js'
import type { RunWaiter } from '../services/run-waiter.js'
import type { RunService } from '../services/runs.js'
import type { Downloads } from './downloads.js'
import { enough } from './enough.js'
import { pageToWire } from './links.js'
import { rule } from './rule.js'

const TAG = 'runs'
const batchesQuery = z.strictObject(pageQueryUpTo(1000))

interface RunRouteParts {
  readonly runs: RunService
  readonly waiter: RunWaiter
  readonly downloads: Downloads
}

export function runRoutes(app: Api, { runs, waiter, downloads }: RunRouteParts): void {
  app.get(
    '/runs',
    {
      config: rule('viewer', { tag: TAG, summary: 'List the runs of all pipelines, newest first.' }),
      schema: { querystring: listRunsQuery, response: { 200: runPage } },
    },
    async (request, reply) => {
      const { pipeline_id: pipelineId, ...filter } = request.query
      const page = await runs.list({ ...filter, pipelineId })
      return pageToWire(page, runToWire, { request, reply })
    },
  )

  app.get(
    '/runs/:id',
    {
      config: rule('viewer', { tag: TAG, summary: 'Get a run with its latest batches.', problems: [404] }),
      schema: { params: byId, querystring: oneRunQuery, response: { 200: runDetailWire } },
    },
    async (request, reply) => {
      const { id } = request.params
      const { wait } = request.query
      if (wait !== undefined)
        await waiter.inPlace(request.caller!.id, () => waiter.untilOver(id, enough(reply, wait)))
      return runDetailToWire(await runs.detail(id))
    },
  )

  app.get(
    '/runs/:id/log',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the log lines of a run, oldest first.',
        problems: [404],
      }),
      schema: { params: byId, querystring: logQuery, response: { 200: logPage } },
    },
    async (request, reply) => {
      const { errors_only: errors, ...page } = request.query
      const found = await runs.log(request.params.id, { ...page, errors })
      return pageToWire(found, logLineToWire, { request, reply })
    },
  )

  app.get(
    '/runs/:id/log.txt',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Download the whole log of a run as text, one line per entry.',
        problems: [404],
        media: 'text/plain',
      }),
      schema: { params: byId, querystring: logTextQuery },
    },
    async (request, reply) => {
      const { errors_only: errors, ...filter } = request.query
      const { id } = await runs.get(request.params.id)
      const parts = textOf(runs.logLines(id, { ...filter, errors }))
      return downloads.send(request, reply, { type: 'text/plain', name: `run-${id}.log`, parts })
    },
  )

  app.get(
    '/runs/:id/batches',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the batches of a run, newest first.',
        problems: [404],
      }),
      schema: { params: byId, querystring: batchesQuery, response: { 200: batchPage } },
    },
    async (request, reply) => {
      const page = await runs.batches(request.params.id, request.query)
      return pageToWire(page, batchToWire, { request, reply })
    },
  )

  app.get(
    '/runs/:id/parts',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the parts of a run, in the order of their keys.',
        problems: [404],
      }),
      schema: { params: byId, querystring: batchesQuery, response: { 200: partPage } },
    },
    async (request, reply) => {
      const page = await runs.parts(request.params.id, request.query)
      return pageToWire(page, partToWire, { request, reply })
    },
  )
}

async function* textOf(pages: AsyncIterable<readonly RunLogLine[]>): AsyncGenerator<string> {
  for await (const lines of pages) if (lines.length > 0) yield lines.map(lineOf).join('')
}

function lineOf({ at, level, message, fields }: RunLogLine): string {
  const facts = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`
  return `${visibleLine(`${at} ${level.toUpperCase()} ${message}${facts}`)}\n`
}
