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
import type { Way } from '../model/pipeline.js'
import { connectionUrl } from '../postgres/connections.js'
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
import { PartQueueRepository } from '../store/runs/part-queue.repository.js'
import { RunLogWriter } from '../store/runs/run-log.js'
import { RunQueueRepository } from '../store/runs/run-queue.repository.js'
import { NotifyWakeups } from '../store/wakeups.js'
import { CaptureEvents } from '../telemetry/capture-events.js'
import { Events } from '../telemetry/events.js'
import type { Meter } from '../telemetry/meter.js'
import { keepingRunLines } from '../telemetry/run-log.js'
import { Transfers } from '../transfers/transfers.js'
import { createTransforms } from '../transforms/index.js'
import { type MetricsEndpoint, serveMetrics } from './metrics.js'
import { VERSION } from './paths.js'
import { requireUsableServer } from './server-check.js'
import { targetRules } from './targets.js'
import type { Telemetry } from './telemetry.js'

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
  { sinks, retryWaitsMs, ...options }: RunnerOverrides = {},
): Promise<RunningRunner> {
  const writerUrl = loginUrl(settings, 'writer')
  const concurrency = runnerConcurrency(settings)
  const limits = connectionLimits(settings)
  const leaseSeconds = settings.RUNNER_LEASE_SECONDS
  // Each running pipeline may renew its lease while the manager looks for more.
  const database = new Database(writerUrl, { name: 'vitrina-runner', size: concurrency + 2 })
  try {
    const { isPooled, warnings } = await requireUsableServer(writerUrl)
    for (const warning of warnings) log.warn(warning)
    if (!isPooled) database.isDirect()
    await requireMigrated((sql) => database.query(sql))
    const queue = new RunQueueRepository(database, databaseNames(writerUrl, settings.connections))
    const runLog = new RunLogWriter(database, settings.RUN_LOG_MAX_LINES)
    const events = new Events(
      keepingRunLines(log, (line) => runLog.keep(line)),
      meter,
      tracer,
    )
    // New with every start: a restarted runner never mistakes itself for its predecessor.
    const id = `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`
    const runner = {
      ...{ id, host: hostname(), pid: process.pid, version: VERSION, concurrency },
      ...{ tags: settings.RUNNER_TAGS ?? null, connectionLimits: limits },
    }
    const transforms = createTransforms(settings)
    const readerUrl = loginUrl(settings, 'reader')
    const guard = new SqlGuard({ sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS })
    const targets = targetRules(settings, sinks)
    const captors = new Captors({
      mainUrl: writerUrl,
      sourceUrl: (connection) => captureUrl(settings, connection),
      query: (sql) => database.query(sql),
      owner: id,
      leaseSeconds,
      keepBytes: settings.VITRINA_WAL_KEEP_MB * MEGABYTE,
      events: new CaptureEvents(log),
    })
    const transfers = new Transfers({
      readerUrl,
      writerUrl,
      connections: settings.connections,
      targets,
      rules: { guard, sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS },
      transforms,
      signals: captors.signals,
      ...options,
    })
    const reconciler = new MartReconciler({
      readerUrl,
      martUrl: writerUrl,
      guard,
      connections: settings.connections,
      targets,
      transforms,
    })
    const waits = retryWaitsMs === undefined ? {} : { retryWaitsMs }
    const partQueue = new PartQueueRepository(database)
    const worker = new PartWorker({
      runnerId: id,
      parts: partQueue,
      ...{ queue, transfers, events, leaseSeconds },
      connectionLimits: runner.connectionLimits,
    })
    const engine = new SparkEngine(
      { profiles: settings.sparkProfiles, environment: settings.environment },
      {
        metaUrl: writerUrl,
        sourceUrl: ({ sourceConnection }) => connectionUrl(settings.connections, sourceConnection, readerUrl),
        targetUrl: ({ targetConnection }) => connectionUrl(settings.connections, targetConnection, writerUrl),
        leaseSeconds,
      },
    )
    const parts = {
      ...{ queue, parts: partQueue, worker, engine, transfers, reconciler, events, leaseSeconds },
      ...waits,
    }
    const manager = new PipelineManager({
      runner,
      queue,
      parts: partQueue,
      worker,
      events,
      dispatcher: new PipelineDispatcher(parts, new PipelineExecutor(parts)),
      scheduler: new Scheduler(queue, events),
      wakeups: new NotifyWakeups(writerUrl),
      pollIntervalMs: settings.RUNNER_POLL_INTERVAL_MS,
      leaseSeconds,
      graceMs: GRACE_MS,
    })
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
      await transfers.close()
      await transforms.close()
      await metrics?.close()
      await runLog.close()
      await database.close()
      await tracer?.close()
    }
    return { id, stop }
  } catch (error) {
    await database.close()
    throw error
  }
}

async function watched(
  { RUNNER_METRICS_HOST: host, RUNNER_METRICS_PORT: port }: Settings,
  meter: Meter,
  manager: PipelineManager,
): Promise<MetricsEndpoint | null> {
  if (port === undefined) return null
  return serveMetrics(meter, { host, port, isReady: () => manager.isReady })
}
