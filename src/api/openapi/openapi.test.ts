import { beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'
import { createClient } from '../../client/api-client.js'
import { runRequestedWire } from '../schemas/control.js'
import { previewWire, reconcileWire, validationWire } from '../schemas/inspect.js'
import { pipelineWire } from '../schemas/pipeline.js'
import { runWire } from '../schemas/run.js'
import { problemWire } from './openapi-document.js'

type Json = Record<string, unknown>

let api: TestApi
let document: {
  openapi: string
  paths: Record<string, Record<string, Json>>
  components: { schemas: Record<string, Json> }
}
beforeAll(async () => {
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  document = (await api.app.inject('/openapi.json')).json()
})

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  )

/** Every schema with fields, at any depth. */
function objects(node: unknown, path: string): { path: string; properties: Record<string, Json> }[] {
  if (typeof node !== 'object' || node === null) return []
  const found = Object.entries(node).flatMap(([key, value]) => objects(value, `${path}.${key}`))
  const { type, properties } = node as Json
  return type === 'object' && typeof properties === 'object'
    ? [{ path, properties: properties as Record<string, Json> }, ...found]
    : found
}

describe('/openapi.json', () => {
  it('describes every route of the API', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(operations().length).toBeGreaterThan(30)
    expect(document.paths['/pipelines/{id}/run']?.post).toMatchObject({
      operationId: 'postPipelinesByIdRun',
      responses: { 202: {}, 409: {} },
    })
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('describes every route, parameter and field', () => {
    for (const { name, operation } of operations()) {
      expect(operation.summary, name).toMatch(/\.$/)
      for (const parameter of operation.parameters as Json[])
        expect(parameter.description, `${name} ${parameter.name}`).toBeTruthy()
    }
    const all = {
      ...document.components.schemas,
      ...Object.fromEntries(operations().map(({ name, operation }) => [name, operation])),
    }
    for (const { path, properties } of objects(all, ''))
      for (const [field, schema] of Object.entries(properties))
        if (!['old', 'new'].includes(field)) expect(schema.description, `${path}.${field}`).toBeTruthy()
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(['Pipeline', 'Problem', 'Run']),
    )
  })

  it('describes numbers as numbers, although a query is text', () => {
    const parameters = document.paths['/pipelines']?.get?.parameters as Json[]
    expect(parameters.find(({ name }) => name === 'limit')).toMatchObject({
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    })
    expect(parameters.find(({ name }) => name === 'enabled')).toMatchObject({ schema: { type: 'boolean' } })
  })
})

describe('the examples', () => {
  it.each([
    ['a pipeline', pipelineWire],
    ['a run', runWire],
    ['a requested run', runRequestedWire],
    ['a validation', validationWire],
    ['a preview', previewWire],
    ['a reconciliation', reconcileWire],
    ['a problem', problemWire],
  ] as const)('of %s are responses that the schema allows, to the last field', (_, schema) => {
    const examples = schema.meta()?.examples as unknown[]
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) expect((schema as z.ZodObject).strict().parse(example)).toEqual(example)
    expect(JSON.stringify(document)).toContain(JSON.stringify(examples[0]).slice(0, 200))
  })
})

describe('/docs', () => {
  it('is a page that loads and runs nothing', async () => {
    const { headers, body } = await api.app.inject('/docs')
    expect(headers['content-type']).toMatch(/^text\/html/)
    expect(headers['content-security-policy']).toMatch(/default-src 'none'; style-src 'sha256-/)
    expect(body).toContain('/pipelines/{id}/run')
    expect(body).not.toMatch(/<script|<link|src=|https?:\/\//)
  })
})

describe('the client', () => {
  it('calls the API with the types of the document', async () => {
    const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
    const client = createClient({ url, token: TOKEN })
    const body = { name: 'by_client', source_query: 'SELECT 1', target_table: 'analytics.x' }
    const made = await client.POST('/pipelines', { body })
    expect(made.data?.config_version).toBe(1)
    const run = await client.POST('/pipelines/{id}/run', { params: { path: { id: made.data!.id } } })
    expect(run.data?.status).toBe('RUN_REQUESTED')
    const missing = await client.GET('/pipelines/{id}', { params: { path: { id: 'x' } } })
    expect(missing.error?.code).toBe('PIPELINE_NOT_FOUND')
  })
})
