import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { Captors } from '../capture/captors.js'
import { captureUrl, loginUrl, type Settings } from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import type { Way } from '../model/pipeline.js'
import { MartReconciler } from '../reconcile/reconciler.js'
import { PipelineDispatcher } from '../runner/dispatcher.js'
import { PipelineExecutor } from '../runner/executor.js'
import { PipelineManager } from '../runner/manager.js'
import { Scheduler } from '../runner/scheduler.js'
import type { SinkModule } from '../sinks/index.js'
import { Database } from '../store/database.js'
import { requireMigrated } from '../store/migrate.js'
import { RunLogWriter } from '../store/run-log.js'
import { RunQueueRepository } from '../store/run-queue.repository.js'
import { NotifyWakeups } from '../store/wakeups.js'
import { CaptureEvents } from '../telemetry/capture-events.js'
import { Events } from '../telemetry/events.js'
import type { Meter } from '../telemetry/meter.js'
import { keepingRunLines } from '../telemetry/run-log.js'
import { Transfers } from '../transfers/factory.js'
import { createTransforms } from '../transforms/index.js'
import { type MetricsEndpoint, serveMetrics } from './metrics.js'
import { VERSION } from './paths.js'
import { requireUsableServer } from './server-check.js'
import { targetRules } from './targets.js'
import type { Telemetry } from './telemetry.js'

/** Less than what systemd, Kubernetes and `vitrina up` wait before they kill. */
const GRACE_MS = 20_000
const MEGABYTE = 1024 * 1024

export interface RunningRunner {
  readonly id: string
  stop(): Promise<void>
}

/** `way` and `sinks` are for tests and benches: a way that is taken whether or not a faster one is possible, other sinks. */
export async function startRunner(
  settings: Settings,
  { log, meter, tracer }: Telemetry,
  { sinks, ...options }: { way?: Way; sinks?: readonly SinkModule[] } = {},
): Promise<RunningRunner> {
  const writerUrl = loginUrl(settings, 'writer')
  const concurrency = settings.RUNNER_CONCURRENCY
  const leaseSeconds = settings.RUNNER_LEASE_SECONDS
  // Each running pipeline may renew its lease while the manager looks for more.
  const database = new Database(writerUrl, { name: 'vitrina-runner', size: concurrency + 2 })
  try {
    for (const warning of await requireUsableServer(writerUrl)) log.warn(warning)
    await requireMigrated((sql) => database.query(sql))
    const queue = new RunQueueRepository(database)
    const runLog = new RunLogWriter(database, settings.RUN_LOG_MAX_LINES)
    const events = new Events(
      keepingRunLines(log, (line) => runLog.keep(line)),
      meter,
      tracer,
    )
    // New with every start: a runner that comes back never takes itself for its predecessor.
    const id = `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`
    const runner = { id, host: hostname(), pid: process.pid, version: VERSION, concurrency }
    const transforms = createTransforms(settings)
    const readerUrl = loginUrl(settings, 'reader')
    const judge = new SqlGuard({ sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS })
    const targets = targetRules(settings, sinks)
    const transfers = new Transfers({
      readerUrl,
      writerUrl,
      connections: settings.connections,
      targets,
      rules: { judge, sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS },
      transforms,
      ...options,
    })
    const reconciler = new MartReconciler({
      readerUrl,
      martUrl: writerUrl,
      judge,
      connections: settings.connections,
      targets,
      transforms,
    })
    const parts = { queue, transfers, reconciler, events, leaseSeconds }
    const manager = new PipelineManager({
      runner,
      queue,
      events,
      dispatcher: new PipelineDispatcher(parts, new PipelineExecutor(parts)),
      scheduler: new Scheduler(queue, events),
      wakeups: new NotifyWakeups(writerUrl),
      pollIntervalMs: settings.RUNNER_POLL_INTERVAL_MS,
      leaseSeconds,
      graceMs: GRACE_MS,
    })
    const captors = new Captors({
      mainUrl: writerUrl,
      sourceUrl: (connection) => captureUrl(settings, connection),
      look: (sql) => database.query(sql),
      owner: id,
      leaseSeconds,
      keepBytes: settings.VITRINA_WAL_KEEP_MB * MEGABYTE,
      events: new CaptureEvents(log),
    })
    const metrics = await watched(settings, meter, manager)
    await manager.start().catch(async (error) => {
      await metrics?.close()
      throw error
    })
    captors.start()
    if (metrics !== null) log.info('Metrics and health are served.', { port: metrics.port })
    const stop = async () => {
      // Metrics and health stay until the last batch has ended: whoever looks shall see that it drains.
      await manager.stop()
      await captors.stop()
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
