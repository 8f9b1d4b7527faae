import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { UnreadLimits } from '../../src/api/http/unread.js'
import { createServer } from '../../src/api/server.js'
import type { CheckLimits } from '../../src/api/services/check-slots.js'
import type { PlaceLimits } from '../../src/api/services/places.js'
import { readSettings, SETTINGS } from '../../src/config/settings.js'
import { settingsInForce } from '../../src/config/settings-in-force.js'
import type { PreviewTimeouts } from '../../src/inspect/read-first-rows.js'
import { ConnectionProbes, type Probed } from '../../src/main/connection-probes.js'
import { createInspection } from '../../src/main/inspection.js'
import { createChannels } from '../../src/main/notifications.js'
import type { SinkKind } from '../../src/ports/sink.js'
import { SparkEngine } from '../../src/spark/spark-engine.js'
import { catalogStores } from '../../src/store/catalog/stores.js'
import { Database } from '../../src/store/database.js'
import { NotifyWakeups } from '../../src/store/wakeups.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { createTransforms } from '../../src/transforms/index.js'
import { closeAtEnd } from './close-at-end.js'

export const TOKEN = 'a-token-for-tests-only'

/** The API over the real store; only the socket is left out. */
export interface TestApi {
  readonly app: FastifyInstance
  /** Every line it logged, as an object. */
  readonly lines: Record<string, unknown>[]
  /** As the administrator, unless `headers` override it. */
  call(request: InjectOptions): Promise<LightMyRequestResponse>
  get(url: string): Promise<LightMyRequestResponse>
  post(url: string, body?: object): Promise<LightMyRequestResponse>
  patch(url: string, body: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  close(): Promise<void>
}

export interface ApiOptions {
  readonly consoleDir?: string
  readonly rateLimit?: number
  /** Wrong tokens per minute and address; not given: unlimited. */
  readonly wrongTokens?: number
  readonly trustedProxies?: readonly string[]
  /** Concurrent checks; not given: unlimited. */
  readonly checks?: CheckLimits
  /** Concurrent streams; not given: unlimited. */
  readonly streams?: PlaceLimits
  /** Pipelines with their own series; not given: all. */
  readonly metricsPipelines?: number
  /** Default a century: tests write runs of any age. */
  readonly runsDays?: number
  readonly connections?: readonly string[]
  readonly heartbeatMs?: number
  /** For validate, preview and reconcile. */
  readonly readerUrl?: string
  /** The addresses of the named connections. */
  readonly urls?: ReadonlyMap<string, string>
  /** What `GET /connections` tests. */
  readonly probed?: Probed
  /** What queries may read; not given: content and ugc. */
  readonly sourceSchemas?: readonly string[]
  /** Sinks besides PostgreSQL; not given: none. */
  readonly kinds?: readonly SinkKind[]
  /** How long a preview waits; not given: the default of the product. */
  readonly timeouts?: PreviewTimeouts
  /** Settings of transforms and channels; not given: none. */
  readonly env?: Readonly<Record<string, string>>
  readonly unread?: UnreadLimits
}

/**
 * `url` is that of the API's own login, so that a missing privilege fails a test and not a user. Closed at the end of
 * the test, or of the file.
 */
export function anApi(url: string, options: ApiOptions = {}): TestApi {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog({
    service: 'api',
    version: '0.0.0-test',
    level: 'debug',
    format: 'json',
    destination,
  })
  const database = new Database(url, { name: 'vitrina-api', size: 4 })
  const meter = createMeter({ version: '0.0.0-test' })
  const targets = { tables: ['analytics.*'], kinds: options.kinds ?? [] }
  const settings = readSettings({ VITRINA_PYTHON_TASKS: '/nowhere', ...options.env })
  const transforms = createTransforms(settings)
  const app = createServer({
    stores: catalogStores(database),
    wakeups: new NotifyWakeups(url, 'vitrina_events'),
    log,
    meter,
    token: TOKEN,
    version: '0.0.0-test',
    rules: {
      targets,
      connections: new Set(options.connections ?? []),
    },
    ...createInspection(options.readerUrl ?? url, url, {
      connections: options.urls ?? new Map(),
      targets,
      sourceSchemas: options.sourceSchemas ?? ['content', 'ugc'],
      transforms,
      engine: new SparkEngine({ profiles: settings.sparkProfiles, environment: { PATH: '' } }),
      ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
    }),
    transforms,
    connections: new ConnectionProbes(options.probed ?? { databases: [], sinks: [] }),
    channels: createChannels(readSettings(options.env ?? {})),
    settings: settingsInForce([SETTINGS], options.env ?? {}),
    rateLimit: options.rateLimit ?? 1_000_000,
    wrongTokens: options.wrongTokens ?? 1_000_000,
    trustedProxies: options.trustedProxies ?? [],
    checks: options.checks ?? { total: 1_000, perToken: 1_000 },
    streams: options.streams ?? { total: 1_000, perToken: 1_000 },
    ...(options.unread === undefined ? {} : { unread: options.unread }),
    metricsPipelines: options.metricsPipelines ?? 1_000_000,
    retention: { eventsHours: 24, runsDays: options.runsDays ?? 36_500, quarantineDays: 30 },
    consoleDir: options.consoleDir,
    heartbeatMs: options.heartbeatMs,
  })
  const call = (request: InjectOptions) =>
    app.inject({ headers: { authorization: `Bearer ${TOKEN}` }, ...request })
  let closed: Promise<void> | null = null
  const close = async () => {
    await app.close()
    await transforms.close()
    await database.close()
  }
  const api: TestApi = {
    app,
    lines,
    call,
    get: (path) => call({ method: 'GET', url: path }),
    post: (path, body) =>
      call({ method: 'POST', url: path, ...(body === undefined ? {} : { payload: body }) }),
    patch: (path, payload, headers = {}) =>
      call({
        method: 'PATCH',
        url: path,
        payload,
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      }),
    close: () => (closed ??= close()),
  }
  closeAtEnd(api.close)
  return api
}
