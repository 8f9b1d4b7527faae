import { fastify } from 'fastify'
import { apiRoutes, type Services } from '../routes/index.js'
import { API_PREFIX } from '../routes/links.js'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from '../schemas/type-provider.js'
import { collectRoutes } from './collect.js'
import { openApiDocument } from './openapi-document.js'

/** The document without a running server, for the generator: routes are registered, but cannot be called. */
export async function describeApi(version: string): Promise<Record<string, unknown>> {
  const app = fastify().withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  const routes = collectRoutes(app, API_PREFIX)
  app.register(async (scope) => apiRoutes(scope, {} as Services), { prefix: API_PREFIX })
  await app.ready()
  await app.close()
  return openApiDocument(routes, version)
}
