import { z } from 'zod'
import { authorOf, requireRole } from '../auth/bearer.js'
import { noBody } from '../schemas/control.js'
import {
  previewQuery,
  previewToWire,
  previewWire,
  reconcileQuery,
  reconcileToWire,
  reconcileWire,
  repairWire,
  tablesQuery,
  tablesToWire,
  tablesWire,
  validateQuery,
  validationToWire,
  validationWire,
} from '../schemas/inspect.js'
import { byId } from '../schemas/params.js'
import { previewInput, validateInput } from '../schemas/pipeline-input.js'
import type { Api } from '../schemas/type-provider.js'
import type { InspectService } from '../services/inspect.js'
import { validationFor } from '../services/server-messages.js'
import { runUrl } from './links.js'
import { rule } from './rule.js'

const TAG = 'inspection'
/** The service reads the body field by field, so that all mistakes are reported together. */
const anyObject = z.record(z.string(), z.unknown())
/** No check is worth more time than this; the sessions of a longer one are terminated. */
const TIMEOUT_MS = 25_000
const DEEP_TIMEOUT_MS = 30 * 60_000

export function inspectRoutes(app: Api, inspect: InspectService): void {
  app.post(
    '/pipelines/:id/validate',
    {
      config: rule('viewer', {
        tag: TAG,
        summary:
          'Validate a pipeline, and report how a run would read and write. Executes parts of the query.',
        check: 'short',
        problems: [404],
      }),
      schema: { params: byId, body: noBody, response: { 200: validationWire } },
    },
    async (request) =>
      validationToWire(
        validationFor(
          request.caller!.role,
          await inspect.validate(request.params.id, AbortSignal.timeout(TIMEOUT_MS)),
        ),
      ),
  )

  app.post(
    '/validate',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Validate an unsaved pipeline, and report how a run would read and write.',
        check: 'short',
        body: validateInput,
      }),
      schema: { querystring: validateQuery, body: anyObject, response: { 200: validationWire } },
    },
    async (request) => {
      const depth = request.query.quick ? 'quick' : 'whole'
      return validationToWire(
        await inspect.validateDraft(request.body, depth, AbortSignal.timeout(TIMEOUT_MS)),
      )
    },
  )

  app.get(
    '/catalog/tables',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'List the tables that a query may read, with their columns.',
        check: 'short',
      }),
      schema: { querystring: tablesQuery, response: { 200: tablesWire } },
    },
    async (request) =>
      tablesToWire(await inspect.tables(request.query.connection ?? null, AbortSignal.timeout(TIMEOUT_MS))),
  )

  app.post(
    '/pipelines/:id/preview',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Get the first rows as they would be written. Writes nothing.',
        check: 'short',
        problems: [404],
      }),
      schema: { params: byId, querystring: previewQuery, body: noBody, response: { 200: previewWire } },
    },
    async (request) =>
      previewToWire(
        await inspect.preview(request.params.id, request.query.limit, AbortSignal.timeout(TIMEOUT_MS)),
      ),
  )

  app.post(
    '/preview',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Get the first rows of an unsaved pipeline as they would be written. Writes nothing.',
        check: 'short',
        body: previewInput,
      }),
      schema: { querystring: previewQuery, body: anyObject, response: { 200: previewWire } },
    },
    async (request) =>
      previewToWire(
        await inspect.previewDraft(request.body, request.query.limit, AbortSignal.timeout(TIMEOUT_MS)),
      ),
  )

  app.get(
    '/pipelines/:id/reconcile',
    {
      config: rule('viewer', {
        tag: TAG,
        summary: 'Compare the mart with its query. `deep` requires the role operator.',
        check: ({ query }) => ((query as { deep?: boolean }).deep === true ? 'long' : 'short'),
        problems: [404],
      }),
      schema: { params: byId, querystring: reconcileQuery, response: { 200: reconcileWire } },
    },
    async (request) => {
      const { deep } = request.query
      // It reads every row on both sides, for up to half an hour, and returns keys.
      if (deep) requireRole(request, 'operator')
      const signal = AbortSignal.timeout(deep ? DEEP_TIMEOUT_MS : TIMEOUT_MS)
      return reconcileToWire(
        await inspect.reconcile(request.params.id, { deep, signal, events: request.events }),
      )
    },
  )

  app.post(
    '/pipelines/:id/reconcile/repair',
    {
      config: rule('operator', {
        tag: TAG,
        summary: 'Compare row by row and request a run that repairs the rows that differ.',
        check: 'long',
        problems: [404, 409],
      }),
      schema: { params: byId, body: noBody, response: { 202: repairWire } },
    },
    async (request, reply) => {
      const { id } = request.params
      const { rows, run } = await inspect.repair(id, authorOf(request), AbortSignal.timeout(DEEP_TIMEOUT_MS))
      return reply
        .code(202)
        .send({ id, rows, run_id: run?.id ?? null, url: run === null ? null : runUrl(run.id) })
    },
  )
}
