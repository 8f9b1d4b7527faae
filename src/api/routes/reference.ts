import { collectRoutes } from '../openapi/collect.js'
import { openApiDocument } from '../openapi/openapi-document.js'
import { referencePage } from '../openapi/reference-page.js'
import type { Api } from '../schemas/type-provider.js'
import { API_PREFIX } from './links.js'

const POLICY =
  "default-src 'none'; style-src 'sha256-%'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * The reference, for programs and for people. It contains no secrets, and a browser cannot send a token with a page.
 */
export function referenceRoutes(app: Api, version: string): void {
  const routes = collectRoutes(app, API_PREFIX)
  const config = { access: 'open' as const, quiet: true }
  // Once all routes are registered it never changes, and anyone may read it.
  const reference = once(() => openApiDocument(routes, version))
  const text = once(() => JSON.stringify(reference()))
  const page = once(() => referencePage(reference()))
  app.get('/openapi.json', { config }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(text()),
  )
  app.get('/docs', { config }, async (_request, reply) => {
    const { html, styleHash } = page()
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY.replace('%', styleHash))
      .send(html)
  })
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
