import { type FastifyInstance, fastify } from 'fastify'
import type { SettingInForce } from '../config/settings-in-force.js'
import type { Catalog } from '../ports/catalog.js'
import type { Channels } from '../ports/channels.js'
import type { CheckStore } from '../ports/check-store.js'
import type { ComparisonStore } from '../ports/comparison-store.js'
import type { Connections } from '../ports/connections.js'
import type { FreshnessStore } from '../ports/freshness-store.js'
import type { Inspector } from '../ports/inspector.js'
import type { Journal } from '../ports/journal.js'
import type { Lineage } from '../ports/lineage.js'
import type { MartData } from '../ports/mart-data.js'
import type { NotificationStore } from '../ports/notification-store.js'
import type { PipelineEditor } from '../ports/pipeline-editor.js'
import type { ProfileStore } from '../ports/profile-store.js'
import type { QuarantineStore } from '../ports/quarantine-store.js'
import type { Reconciler } from '../ports/reconciler.js'
import type { RunControl } from '../ports/run-control.js'
import type { SessionStore } from '../ports/session-store.js'
import type { TokenStore } from '../ports/token-store.js'
import type { TransformCatalog } from '../ports/transforms.js'
import type { Wakeups } from '../ports/wakeups.js'
import { ApiEvents } from '../telemetry/api-events.js'
import type { Logger } from '../telemetry/log.js'
import type { Meter } from '../telemetry/meter.js'
import type { Tracer } from '../telemetry/trace.js'
import { requireRules } from './auth/access.js'
import { requireToken } from './auth/bearer.js'
import { Guesses } from './auth/guesses.js'
import { Identity } from './auth/identity.js'
import { limitOpenRoutes } from './auth/open-limit.js'
import { RateLimit } from './auth/rate-limit.js'
import { readBodies } from './http/body.js'
import { explainRejections, rejectUnparsable } from './http/broken-request.js'
import { toFailure } from './http/failure.js'
import { holdSlots } from './http/hold-slots.js'
import { observeRequests, requestId } from './http/observe.js'
import { packAnswers } from './http/packing.js'
import { answerWithProblems, sendProblem } from './http/problem.js'
import { closeInOrder } from './http/shutdown.js'
import { limitUnread, type UnreadLimits } from './http/unread.js'
import { consoleRoutes } from './routes/console.js'
import { Downloads } from './routes/downloads.js'
import { EventStreams } from './routes/events.js'
import { apiRoutes, type Services } from './routes/index.js'
import { API_PREFIX } from './routes/links.js'
import { referenceRoutes } from './routes/reference.js'
import { UnknownRoutes } from './routes/unknown.js'
import {
  type Api,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from './schemas/type-provider.js'
import { AboutService } from './services/about.js'
import type { CheckLimits } from './services/check-slots.js'
import { ConnectionService } from './services/connections.js'
import { ControlService } from './services/control.js'
import { DataCheckService } from './services/data-checks.js'
import { EditService } from './services/edit.js'
import { EventHub } from './services/event-hub.js'
import { FreshnessService } from './services/freshness.js'
import { FreshnessWatch } from './services/freshness-watch.js'
import { HealthService } from './services/health.js'
import { HistoryService } from './services/history.js'
import { Housekeeping, type Retention } from './services/housekeeping.js'
import { InspectService } from './services/inspect.js'
import { LineageService } from './services/lineage.js'
import { MartDataService } from './services/mart-data.js'
import { MetricsService } from './services/metrics.js'
import { NotificationService } from './services/notifications.js'
import { OrderService } from './services/order.js'
import type { PipelineRules } from './services/pipeline-rules.js'
import { PipelineService } from './services/pipelines.js'
import type { PlaceLimits } from './services/places.js'
import { QuarantineService } from './services/quarantine.js'
import { RunWaiter } from './services/run-waiter.js'
import { RunService } from './services/runs.js'
import { SessionService } from './services/sessions.js'
import { SourceService } from './services/sources.js'
import { TokenService } from './services/tokens.js'

/** The parts of the meta store that the API needs. */
export interface Stores {
  readonly catalog: Catalog
  readonly editor: PipelineEditor
  readonly control: RunControl
  readonly quarantine: QuarantineStore
  readonly comparisons: ComparisonStore
  readonly freshness: FreshnessStore
  readonly profiles: ProfileStore
  readonly checks: CheckStore
  readonly tokens: TokenStore
  readonly sessions: SessionStore
  readonly journal: Journal
  readonly notifications: NotificationStore
}

export interface ServerOptions {
  readonly stores: Stores
  /** Signals that the journal has new events. */
  readonly wakeups: Wakeups
  readonly log: Logger
  readonly meter: Meter
  /** Not given: nothing is traced. */
  readonly tracer?: Tracer
  /** The administrator's bearer token. */
  readonly token: string
  readonly version: string
  readonly rules: PipelineRules
  readonly inspector: Inspector
  readonly reconciler: Reconciler
  readonly lineage: Lineage
  /** Reads rows of marts. */
  readonly martData: MartData
  readonly transforms: TransformCatalog
  readonly connections: Connections
  /** Where notifications are sent to. */
  readonly channels: Channels
  /** What `GET /settings` returns. */
  readonly settings: readonly SettingInForce[]
  /** Requests per minute and token. */
  readonly rateLimit: number
  /** Wrong tokens and codes per minute and address; not given: 30. */
  readonly wrongTokens?: number
  /** Addresses and networks whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** Validations, previews and comparisons at the same time. */
  readonly checks: CheckLimits
  /** Event streams open at the same time, and requests that wait for a run. */
  readonly streams: PlaceLimits
  /** Responses that clients do not read; not given: 32 MiB and a minute. */
  readonly unread?: UnreadLimits
  /** Pipelines with their own series in the metrics. */
  readonly metricsPipelines: number
  readonly retention: Retention
  /** Interval of heartbeats on an event stream; not given: 15 s. */
  readonly heartbeatMs?: number
  /** The built console; null or not given: not served. */
  readonly consoleDir?: string | null
}

const BODY_LIMIT = 1024 * 1024
/** A body of 1 MiB arrives sooner over any connection that a console is used on. */
const REQUEST_TIMEOUT_MS = 15_000
/** Node checks for late requests every 30 s by default, so that 15 s could become 45. */
const LATE_CHECK_MS = 1_000

/** The control plane, wired but not yet listening. close() waits for requests in progress. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = bareServer(options.trustedProxies)
  const identity = new Identity(options.token, options.stores.tokens)
  const guesses = new Guesses(options.wrongTokens)
  const services = createServices(options, identity, guesses)
  readBodies(app)
  observeRequests(app, options)
  protectAnswers(app)
  explainRejections(app)
  packAnswers(app)
  limitUnread(app, options.unread)
  requireRules(app)
  holdSlots(app, options.checks)
  limitOpenRoutes(app, options.rateLimit)
  const unknown = new UnknownRoutes(app)
  unknown.answerOpen(app)
  requireToken(app, {
    identity,
    sessions: services.sessions,
    limit: new RateLimit(options.rateLimit),
    guesses,
  })
  answerWithProblems(app)
  unknown.answer(app)
  referenceRoutes(app, options.version)
  // The first version documented the routes without the prefix; both are supported.
  for (const prefix of [API_PREFIX, '']) app.register(async (scope) => apiRoutes(scope, services), { prefix })
  const folder = options.consoleDir ?? null
  if (folder !== null) app.register(async (scope) => consoleRoutes(scope, folder))
  closeInOrder(app, services, [
    new Housekeeping(options.stores, options.retention),
    new FreshnessWatch(services.freshness),
    services.order,
  ])
  return app as unknown as FastifyInstance
}

function bareServer(trustedProxies: readonly string[]): Api {
  const app = fastify({
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // explainRejections() reports what is missing; Node would only return 400.
    http: {
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: LATE_CHECK_MS,
      requireHostHeader: false,
    },
    genReqId: requestId,
    forceCloseConnections: 'idle',
    // Requests on an open connection are still answered, with "Connection: close".
    return503OnClosing: false,
    clientErrorHandler: rejectUnparsable,
    // Paths that cannot be decoded never reach a route or its error handler.
    frameworkErrors: (error, request, reply) =>
      void sendProblem(request as never, reply as never, toFailure(error)),
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  return app
}

/** Responses are data for one caller: not to be cached, sniffed, framed or executed. */
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

function createServices(options: ServerOptions, identity: Identity, guesses: Guesses): Services {
  const { stores, wakeups, log, meter, version, rules, inspector, reconciler } = options
  const { catalog, journal } = stores
  const pipelines = new PipelineService(catalog)
  const events = new ApiEvents(log, meter)
  const runs = new RunService(catalog)
  const hub = new EventHub({ journal, wakeups, onError: (error) => events.metaStoreLost(error) })
  return {
    pipelines,
    edit: new EditService({ editor: stores.editor, rules, pipelines, inspector }),
    control: new ControlService(stores.control, pipelines),
    lineage: new LineageService(options.lineage, catalog, pipelines),
    order: new OrderService({ catalog, inspector, editor: stores.editor, rules }),
    inspect: new InspectService({
      inspector,
      reconciler,
      comparisons: stores.comparisons,
      pipelines,
      control: stores.control,
      rules,
    }),
    freshness: new FreshnessService({ store: stores.freshness, pipelines, inspector }),
    martData: new MartDataService(options.martData, stores.profiles, pipelines),
    quarantine: new QuarantineService(stores.quarantine, pipelines),
    dataChecks: new DataCheckService({ store: stores.checks, pipelines, inspector, rules }),
    runs,
    history: new HistoryService(catalog),
    tokens: new TokenService(stores.tokens),
    sessions: new SessionService(stores.sessions, identity, guesses),
    facts: { version, rules },
    hub,
    streams: new EventStreams(options.streams, options.heartbeatMs),
    downloads: new Downloads(),
    waiter: new RunWaiter(hub, runs, options.streams),
    health: new HealthService(catalog, version),
    metrics: new MetricsService(catalog, meter, {
      most: options.metricsPipelines,
      notifications: stores.notifications,
    }),
    notifications: new NotificationService(stores.notifications, options.channels),
    transforms: options.transforms,
    about: new AboutService(catalog, version, options.settings),
    connections: new ConnectionService(options.connections, catalog, rules.targets),
    sources: new SourceService(catalog, inspector),
  }
}
