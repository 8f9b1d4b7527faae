import { z } from 'zod'
import { API_PREFIX } from '../routes/links.js'
import type { RouteDoc } from '../routes/rule.js'
import { PROBLEM_EXAMPLE } from '../schemas/examples.js'
import type { CollectedRoute } from './collect.js'
import { NamedSchemas } from './named-schemas.js'
import { TAGS } from './tags.js'

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document, built from the same schemas that validate requests. */
export function openApiDocument(routes: readonly CollectedRoute[], version: string): Json {
  const paths: Record<string, Json> = {}
  const schemas = new NamedSchemas()
  for (const route of [...routes].sort((a, b) => a.url.localeCompare(b.url))) {
    const path = route.url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operation(route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Vitrina',
      version,
      description:
        'The control plane of Vitrina. Every route is also available without the prefix /api/v1. Times are UTC, RFC 3339 with microseconds. Errors are RFC 9457 problem documents.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: API_PREFIX, description: 'This server.' }],
    security: [{ bearer: [] }, { session: [] }],
    tags: tagsOf(routes),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'VITRINA_API_TOKEN, or a token created by POST /tokens.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'vitrina_session',
          description:
            'For browsers: the cookie that POST /session sets; its name ends with the port, if the address has one. Requests also send the header X-CSRF with the csrf_token of that response.',
        },
      },
      schemas: { Problem: schemas.of(problemWire, 'output'), ...schemas.named },
      responses: { Problem: PROBLEM_RESPONSE },
    },
  }
}

/** Open: a problem may have further fields, such as current_version. */
export const problemWire = z
  .looseObject({
    type: z.string().describe('A URN that identifies the type of problem.'),
    title: z.string().describe('The meaning of the code.'),
    status: z.int().describe('The HTTP status.'),
    detail: z.string().describe('A sentence with the facts of this error.'),
    instance: z.string().describe('The requested path.'),
    code: z.string().describe('A stable code for programs.'),
    vtr: z.string().describe('The number of the code in the error reference.'),
    hint: z.string().describe('How to fix it.'),
    retryable: z.boolean().describe('Whether the same request may succeed later.'),
    request_id: z.string().describe('Identifies the request in the log and in the audit.'),
    sqlstate: z.string().optional().describe('The SQLSTATE reported by PostgreSQL.'),
    errors: z
      .array(
        z.object({
          field: z.string().describe('The invalid field.'),
          code: z.string().describe('The mistake, for programs.'),
          message: z.string().describe('The mistake, for people.'),
        }),
      )
      .optional()
      .describe('Every invalid field.'),
  })
  .meta({ examples: [PROBLEM_EXAMPLE] })

const PROBLEM_RESPONSE = {
  description: 'A problem document.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function tagsOf(routes: readonly CollectedRoute[]): Json[] {
  const names = [...new Set(routes.map((route) => route.doc.tag))].sort()
  return names.map((name) => ({ name, description: TAGS[name] }))
}

function operation({ method, url, access, doc, schema }: CollectedRoute, schemas: NamedSchemas): Json {
  const body = doc.body ?? schema.body
  return {
    operationId: operationId(method, url),
    tags: [doc.tag],
    summary: doc.summary,
    description: access === 'open' ? 'Requires no token.' : `Requires the role ${access}.`,
    ...(access === 'open' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(schemas, schema.params, 'path'),
      ...parametersOf(schemas, schema.querystring, 'query'),
      ...parametersOf(schemas, schema.headers, 'header'),
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(schemas, body) }),
    responses: {
      ...answers(schemas, schema.response, doc),
      ...problems(access, [...doc.problems, ...(body === undefined ? [] : [413, 415])]),
    },
  }
}

/** `post /pipelines/:id/run` becomes `postPipelinesByIdRun`. */
function operationId(method: string, url: string): string {
  const words = url.split('/').filter((word) => word !== '')
  const camel = (word: string) =>
    word
      .replace(/^:/, 'by-')
      .split(/[-_.]/)
      .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
      .join('')
  return method + words.map(camel).join('')
}

function parametersOf(
  schemas: NamedSchemas,
  schema: z.ZodType | undefined,
  place: 'path' | 'query' | 'header',
): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemas.of(schema, 'output') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    // A field with a default is always present in responses, but optional in requests.
    required: place === 'path' || (required.includes(name) && rest.default === undefined),
    description,
    schema: rest,
  }))
}

function requestBody(schemas: NamedSchemas, body: z.ZodType): Json {
  const schema = schemas.of(body, 'input')
  // An optional body is described as "this or null", and null is accepted too.
  return { required: schema.anyOf === undefined, content: { 'application/json': { schema } } }
}

function answers(
  schemas: NamedSchemas,
  response: Readonly<Record<string, z.ZodType>> | undefined,
  { media, content, links }: RouteDoc,
): Json {
  if (media !== undefined) {
    const schema = {
      type: 'string',
      ...(content && { contentMediaType: media, contentSchema: schemas.of(content, 'output') }),
    }
    return { 200: { description: 'Done.', content: { [media]: { schema } } } }
  }
  return Object.fromEntries(
    Object.entries(response ?? {}).map(([status, schema]) => [
      status,
      status === '204'
        ? { description: 'Done; no content.' }
        : {
            description: DESCRIPTIONS[status] ?? 'Done.',
            content: { 'application/json': { schema: schemas.of(schema, 'output') } },
            ...(links === undefined ? {} : { links: linksOf(links) }),
          },
    ]),
  )
}

/** Links from a response to operations; programs that explore the API follow them. */
function linksOf(links: NonNullable<RouteDoc['links']>): Json {
  return Object.fromEntries(
    Object.entries(links).map(([operationId, parameters]) => [operationId, { operationId, parameters }]),
  )
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Requested; a runner executes it later.',
  503: 'A component is down.',
}

function problems(access: string, further: readonly number[]): Json {
  const statuses = access === 'open' ? [431] : [400, 401, 403, 422, 429, 431, 503]
  return Object.fromEntries(
    [...new Set([...statuses, ...further])]
      .sort()
      .map((status) => [status, { $ref: '#/components/responses/Problem' }]),
  )
}
