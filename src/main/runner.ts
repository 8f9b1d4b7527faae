import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { Captors } from '../capture/index.js'
import {
  captureUrl,
  connectionLimits,
  loginUrl,
  runnerConcurrency,
  type Settings,
} from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import type { RunnerInfo } from '../model/claim.js'
import { readerQuery, type Way } from '../model/pipeline.js'
import type { TablesOf } from '../ports/due-runs.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { databaseNames } from '../postgres/database-place.js'
import { MartReconciler } from '../reconcile/reconciler.js'
import { PipelineDispatcher } from '../runner/dispatcher.js'
import { PipelineExecutor } from '../runner/executor.js'
import { PipelineManager } from '../runner/manager.js'
import { PartWorker } from '../runner/part-worker.js'
import { Scheduler } from '../runner/scheduler.js'
import type { SinkModule } from '../sinks/index.js'
import { SparkEngine } from '../spark/spark-engine.js'
import { Database } from '../store/database.js'
import { requireMigrated } from '../store/migrate.js'
import { DueRunsRepository } from '../store/runs/due-runs.repository.js'
import { PartQueueRepository } from '../store/runs/part-queue.repository.js'
import { RunLogWriter } from '../store/runs/run-log.js'
import { RunQueueRepository } from '../store/runs/run-queue.repository.js'
import { RunnerRegistryRepository } from '../store/runs/runner-registry.repository.js'
import { NotifyWakeups } from '../store/wakeups.js'
import { CaptureEvents } from '../telemetry/capture-events.js'
import { Events } from '../telemetry/events.js'
import type { Meter } from '../telemetry/meter.js'
import { keepingRunLines } from '../telemetry/run-log.js'
import { Transfers } from '../transfers/transfers.js'
import { createTransforms } from '../transforms/index.js'
import { type MetricsEndpoint, serveMetrics } from './metrics.js'
import { VERSION } from './paths.js'
import { targetRules } from './targets.js'
import type { Telemetry } from './telemetry.js'
import { requireUsableServer } from './usable-server.js'

/** Less than systemd, Kubernetes and `vitrina up` wait before they kill. */
const GRACE_MS = 20_000
const MEGABYTE = 1024 * 1024

export interface RunningRunner {
  readonly id: string
  stop(): Promise<void>
}

/** For tests and benchmarks. */
export interface RunnerOverrides {
  /** Used even if a faster one is possible. */
  readonly way?: Way
  readonly sinks?: readonly SinkModule[]
  /** The waits between the attempts of a run. */
  readonly retryWaitsMs?: readonly number[]
}

export async function startRunner(
  settings: Settings,
  { log, meter, tracer }: Telemetry,
  { retryWaitsMs, ...overrides }: RunnerOverrides = {},
): Promise<RunningRunner> {
  const writerUrl = loginUrl(settings, 'writer')
  const runner = runnerInfo(settings)
  // Each running pipeline may renew its lease while the manager looks for more.
  const database = new Database(writerUrl, { name: 'vitrina-runner', size: runner.concurrency + 2 })
  try {
    const { isPooled, warnings } = await requireUsableServer(writerUrl)
    for (const warning of warnings) log.warn(warning)
    if (!isPooled) database.isDirect()
    await requireMigrated((sql) => database.query(sql))
    const runLog = new RunLogWriter(database, settings.RUN_LOG_MAX_LINES)
    const events = new Events(
      keepingRunLines(log, (line) => runLog.keep(line)),
      meter,
      tracer,
    )
    const captors = captorsOf(settings, { database, runner, events: new CaptureEvents(log) })
    const adapters = adaptersOf(settings, captors, overrides)
    const manager = managerOf(settings, adapters, { database, runner, events, retryWaitsMs })
    const metrics = await watched(settings, meter, manager)
    await manager.start().catch(async (error) => {
      await metrics?.close()
      throw error
    })
    captors.start()
    if (metrics !== null) log.info('Serving metrics and health.', { port: metrics.port })
    const stop = async () => {
      // Metrics and health stay available until the last batch has ended, so that monitoring shows that the runner is
      // draining.
      await manager.stop()
      await captors.stop()
      await adapters.transfers.close()
      await adapters.transforms.close()
      await metrics?.close()
      await runLog.close()
      await database.close()
      await tracer?.close()
    }
    return { id: runner.id, stop }
  } catch (error) {
    await database.close()
    throw error
  }
}

function runnerInfo(settings: Settings): RunnerInfo {
  return {
    // New with every start: a restarted runner never mistakes itself for its predecessor.
    id: `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`,
    host: hostname(),
    pid: process.pid,
    version: VERSION,
    concurrency: runnerConcurrency(settings),
    tags: settings.RUNNER_TAGS ?? null,
    connectionLimits: connectionLimits(settings),
  }
}

interface CaptorParts {
  readonly database: Database
  readonly runner: RunnerInfo
  readonly events: CaptureEvents
}

function captorsOf(settings: Settings, { database, runner, events }: CaptorParts): Captors {
  return new Captors({
    mainUrl: loginUrl(settings, 'writer'),
    sourceUrl: (connection) => captureUrl(settings, connection),
    query: (sql) => database.query(sql),
    owner: runner.id,
    leaseSeconds: settings.RUNNER_LEASE_SECONDS,
    keepBytes: settings.VITRINA_WAL_KEEP_MB * MEGABYTE,
    events,
  })
}

interface Adapters {
  readonly transforms: ReturnType<typeof createTransforms>
  readonly transfers: Transfers
  readonly reconciler: MartReconciler
  readonly engine: SparkEngine
  readonly tablesOf: TablesOf
}

/** What reads sources, writes marts and executes functions. */
function adaptersOf(
  settings: Settings,
  { signals }: Captors,
  { sinks, ...overrides }: Omit<RunnerOverrides, 'retryWaitsMs'>,
): Adapters {
  const writerUrl = loginUrl(settings, 'writer')
  const readerUrl = loginUrl(settings, 'reader')
  const { connections, ALLOWED_SOURCE_SCHEMAS: sourceSchemas } = settings
  const guard = new SqlGuard({ sourceSchemas })
  const transforms = createTransforms(settings)
  const shared = { readerUrl, connections, targets: targetRules(settings, sinks), transforms }
  return {
    transforms,
    tablesOf: async (pipeline) => {
      const text = await guard.check(readerQuery(pipeline))
      return text.ok ? text.relations : []
    },
    transfers: new Transfers({
      ...shared,
      writerUrl,
      rules: { guard, sourceSchemas },
      signals,
      ...overrides,
    }),
    reconciler: new MartReconciler({ ...shared, martUrl: writerUrl, guard }),
    engine: new SparkEngine(
      { profiles: settings.sparkProfiles, environment: settings.environment },
      {
        metaUrl: writerUrl,
        sourceUrl: ({ sourceConnection }) => connectionUrl(connections, sourceConnection, readerUrl),
        targetUrl: ({ targetConnection }) => connectionUrl(connections, targetConnection, writerUrl),
        leaseSeconds: settings.RUNNER_LEASE_SECONDS,
      },
    ),
  }
}

interface ManagerOptions {
  readonly database: Database
  readonly runner: RunnerInfo
  readonly events: Events
  readonly retryWaitsMs: readonly number[] | undefined
}

function managerOf(
  settings: Settings,
  { transfers, reconciler, engine, tablesOf }: Adapters,
  { database, runner, events, retryWaitsMs }: ManagerOptions,
): PipelineManager {
  const writerUrl = loginUrl(settings, 'writer')
  const leaseSeconds = settings.RUNNER_LEASE_SECONDS
  const namesOf = databaseNames(writerUrl, settings.connections)
  const queue = new RunQueueRepository(database, namesOf)
  const parts = new PartQueueRepository(database)
  const dueRuns = new DueRunsRepository(database, namesOf)
  const shared = { queue, parts, transfers, events, leaseSeconds }
  const worker = new PartWorker({
    ...shared,
    runnerId: runner.id,
    connectionLimits: runner.connectionLimits,
  })
  const waits = retryWaitsMs === undefined ? {} : { retryWaitsMs }
  const executorParts = { ...shared, worker, engine, reconciler, ...waits }
  return new PipelineManager({
    runner,
    queue,
    dueRuns,
    registry: new RunnerRegistryRepository(database),
    parts,
    worker,
    events,
    dispatcher: new PipelineDispatcher(executorParts, new PipelineExecutor(executorParts)),
    scheduler: new Scheduler(dueRuns, events, tablesOf),
    wakeups: new NotifyWakeups(writerUrl),
    pollIntervalMs: settings.RUNNER_POLL_INTERVAL_MS,
    leaseSeconds,
    graceMs: GRACE_MS,
  })
}

async function watched(
  { RUNNER_METRICS_HOST: host, RUNNER_METRICS_PORT: port }: Settings,
  meter: Meter,
  manager: PipelineManager,
): Promise<MetricsEndpoint | null> {
  if (port === undefined) return null
  return serveMetrics(meter, { host, port, isReady: () => manager.isReady })
}
