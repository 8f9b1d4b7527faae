import { createServer } from '../api/server.js'
import { loginUrl, SETTINGS, type Settings } from '../config/settings.js'
import { settingsInForce } from '../config/settings-in-force.js'
import { SINKS } from '../sinks/index.js'
import { SparkEngine } from '../spark/spark-engine.js'
import { catalogStores } from '../store/catalog/stores.js'
import { Database } from '../store/database.js'
import { OutboxRepository } from '../store/outbox.repository.js'
import { NotifyWakeups } from '../store/wakeups.js'
import { createTransforms } from '../transforms/index.js'
import { limitedHosts } from '../transforms/limited-hosts.js'
import { type ApiToken, apiToken } from './api-token.js'
import { ConnectionProbes, probedByApi } from './connection-probes.js'
import { createInspection } from './inspection.js'
import { createChannels, createDispatcher, withOpenLineage } from './notifications.js'
import { CONSOLE_DIR, VERSION } from './paths.js'
import { listenFailed } from './port.js'
import { targetRules } from './targets.js'
import type { Telemetry } from './telemetry.js'
import { requireUsableServer } from './usable-server.js'

const POOL_SIZE = 10

export interface RunningApi {
  readonly url: string
  readonly token: ApiToken
  stop(): Promise<void>
}

export async function startApi(settings: Settings, { log, meter, tracer }: Telemetry): Promise<RunningApi> {
  const metaUrl = loginUrl(settings, 'meta')
  const database = new Database(metaUrl, { name: 'vitrina-api', size: POOL_SIZE })
  try {
    const stores = catalogStores(database)
    const { warnings } = await requireUsableServer(metaUrl)
    for (const warning of warnings) log.warn(warning)
    // A database that is missing or not migrated is better reported now than at the first request.
    await stores.catalog.ping()
    const token = await apiToken(settings)
    const targets = targetRules(settings)
    const transforms = createTransforms(settings)
    const inspection = createInspection(loginUrl(settings, 'reader'), metaUrl, {
      connections: settings.connections,
      targets,
      sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS,
      transforms: limitedHosts(transforms, { most: settings.API_MAX_TASK_HOSTS }),
      engine: new SparkEngine({ profiles: settings.sparkProfiles, environment: settings.environment }),
    })
    const channels = withOpenLineage(settings, createChannels(settings), {
      catalog: stores.catalog,
      lineage: inspection.lineage,
    })
    await new OutboxRepository(database).reportRuns(settings.OPENLINEAGE_URL !== undefined)
    const server = createServer({
      stores,
      wakeups: new NotifyWakeups(metaUrl, 'vitrina_events'),
      log,
      meter,
      tracer,
      token: token.token,
      version: VERSION,
      rules: {
        targets,
        connections: new Set(settings.connections.keys()),
      },
      ...inspection,
      transforms,
      connections: new ConnectionProbes(probedByApi(settings)),
      channels,
      settings: settingsInForce([SETTINGS, ...SINKS.map((sink) => sink.settings)], settings.environment),
      rateLimit: settings.API_RATE_LIMIT,
      trustedProxies: settings.VITRINA_TRUSTED_PROXIES,
      checks: { total: settings.API_MAX_CHECKS, perToken: settings.API_MAX_CHECKS_PER_CALLER },
      streams: { total: settings.API_MAX_STREAMS, perToken: settings.API_MAX_STREAMS_PER_CALLER },
      metricsPipelines: settings.METRICS_MAX_PIPELINES,
      retention: {
        eventsHours: settings.EVENTS_RETENTION_HOURS,
        runsDays: settings.RUNS_RETENTION_DAYS,
        quarantineDays: settings.QUARANTINE_RETENTION_DAYS,
      },
      consoleDir: CONSOLE_DIR,
    })
    const { VITRINA_HOST: host, VITRINA_PORT: port } = settings
    const url = await server.listen({ host, port }).catch((error) => {
      throw listenFailed(host, port, error)
    })
    const dispatcher = createDispatcher(settings, { database, channels }, { log, meter })
    dispatcher.start()
    const stop = async () => {
      await dispatcher.stop()
      await server.close()
      await transforms.close()
      await database.close()
      await tracer?.close()
    }
    return { url: readableUrl(url), token, stop }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** An address that a browser can open: "all addresses" is not one. */
function readableUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
