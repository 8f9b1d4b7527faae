import { type FastifyInstance, fastify } from 'fastify'
import type { Catalog } from '../ports/catalog.js'
import type { Logger } from '../telemetry/log.js'
import type { Meter } from '../telemetry/meter.js'
import { requireToken } from './auth/bearer.js'
import { readBodies } from './body.js'
import { toFailure } from './failure.js'
import { observeRequests, requestId } from './observe.js'
import { answerWithProblems, sendProblem } from './problem.js'
import { consoleRoutes } from './routes/console.js'
import { apiRoutes, type Services } from './routes/index.js'
import { PREFIX } from './routes/links.js'
import { unknownRoutes } from './routes/unknown.js'
import {
  type Api,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from './schemas/type-provider.js'
import { HealthService } from './services/health.js'
import { MetricsService } from './services/metrics.js'
import { PipelineService } from './services/pipelines.js'
import { RunService } from './services/runs.js'

export interface ServerOptions {
  readonly catalog: Catalog
  readonly log: Logger
  readonly meter: Meter
  /** The administrator's bearer token. */
  readonly token: string
  readonly version: string
  /** The built console; null or not given: none is served. */
  readonly consoleDir?: string | null
}

const BODY_LIMIT = 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000

/** The control plane, wired and not yet listening. close() lets the requests under way end. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = bareServer()
  const services = createServices(options)
  readBodies(app)
  observeRequests(app, options.log, options.meter)
  protectAnswers(app)
  requireToken(app, options.token)
  answerWithProblems(app)
  unknownRoutes(app)
  // The documents of the first version write the routes without the prefix; both stay.
  for (const prefix of [PREFIX, '']) app.register(async (scope) => apiRoutes(scope, services), { prefix })
  const folder = options.consoleDir ?? null
  if (folder !== null) app.register(async (scope) => consoleRoutes(scope, folder))
  return app as unknown as FastifyInstance
}

function bareServer(): Api {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: requestId,
    forceCloseConnections: 'idle',
    // Requests that still come in over an open connection are answered, with "Connection: close".
    return503OnClosing: false,
    // Paths that cannot be decoded never reach a route or its error handler.
    frameworkErrors: (error, request, reply) =>
      void sendProblem(request as never, reply as never, toFailure(error)),
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  return app
}

/** Answers are data for one caller: not to be kept, guessed at, framed or run. */
function protectAnswers(app: Api): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
  })
}

function createServices({ catalog, meter, version }: ServerOptions): Services {
  return {
    pipelines: new PipelineService(catalog),
    runs: new RunService(catalog),
    health: new HealthService(catalog, version),
    metrics: new MetricsService(catalog, meter),
  }
}
