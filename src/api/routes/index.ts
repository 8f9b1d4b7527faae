import type { TransformCatalog } from '../../ports/transforms.js'
import type { ServerFacts } from '../schemas/session.js'
import type { Api } from '../schemas/type-provider.js'
import type { AboutService } from '../services/about.js'
import type { ConnectionService } from '../services/connections.js'
import type { ControlService } from '../services/control.js'
import type { DataCheckService } from '../services/data-checks.js'
import type { EditService } from '../services/edit.js'
import type { EventHub } from '../services/event-hub.js'
import type { FreshnessService } from '../services/freshness.js'
import type { HealthService } from '../services/health.js'
import type { HistoryService } from '../services/history.js'
import type { InspectService } from '../services/inspect.js'
import type { LineageService } from '../services/lineage.js'
import type { MartDataService } from '../services/mart-data.js'
import type { MetricsService } from '../services/metrics.js'
import type { NotificationService } from '../services/notifications.js'
import type { OrderService } from '../services/order.js'
import type { PipelineService } from '../services/pipelines.js'
import type { QuarantineService } from '../services/quarantine.js'
import type { RunWaiter } from '../services/run-waiter.js'
import type { RunService } from '../services/runs.js'
import type { SessionService } from '../services/sessions.js'
import type { SourceService } from '../services/sources.js'
import type { TokenService } from '../services/tokens.js'
import { aboutRoutes } from './about.js'
import { controlRoutes } from './control.js'
import { dataCheckRoutes } from './data-checks.js'
import type { Downloads } from './downloads.js'
import { editRoutes } from './edit.js'
import { type EventStreams, eventRoutes } from './events.js'
import { freshnessRoutes } from './freshness.js'
import { graphRoutes } from './graph.js'
import { healthRoutes } from './health.js'
import { historyRoutes } from './history.js'
import { inspectRoutes } from './inspect.js'
import { lineageRoutes } from './lineage.js'
import { martDataRoutes } from './mart-data.js'
import { metricsRoutes } from './metrics.js'
import { notificationRoutes } from './notifications.js'
import { pipelineRoutes } from './pipelines.js'
import { quarantineRoutes } from './quarantine.js'
import { runRoutes } from './runs.js'
import { scheduleRoutes } from './schedule.js'
import { sessionRoutes } from './session.js'
import { sessionsRoutes } from './sessions.js'
import { sourceRoutes } from './sources.js'
import { taskRoutes } from './tasks.js'
import { tokenRoutes } from './tokens.js'
import { versionRoutes } from './versions.js'

export interface Services {
  readonly pipelines: PipelineService
  readonly edit: EditService
  readonly control: ControlService
  readonly inspect: InspectService
  readonly lineage: LineageService
  readonly freshness: FreshnessService
  readonly order: OrderService
  readonly martData: MartDataService
  readonly quarantine: QuarantineService
  readonly dataChecks: DataCheckService
  readonly runs: RunService
  readonly history: HistoryService
  readonly tokens: TokenService
  readonly sessions: SessionService
  readonly facts: ServerFacts
  readonly hub: EventHub
  readonly streams: EventStreams
  readonly downloads: Downloads
  readonly waiter: RunWaiter
  readonly health: HealthService
  readonly metrics: MetricsService
  readonly notifications: NotificationService
  readonly transforms: TransformCatalog
  readonly about: AboutService
  readonly connections: ConnectionService
  readonly sources: SourceService
}

export function apiRoutes(app: Api, services: Services): void {
  const { pipelines, edit } = services
  pipelineRoutes(app, pipelines)
  editRoutes(app, edit)
  versionRoutes(app, edit, pipelines)
  controlRoutes(app, services.control, services.waiter)
  quarantineRoutes(app, services.quarantine)
  inspectRoutes(app, services.inspect)
  martDataRoutes(app, services.martData)
  dataCheckRoutes(app, services.dataChecks)
  scheduleRoutes(app)
  freshnessRoutes(app, services.freshness)
  lineageRoutes(app, services.lineage)
  graphRoutes(app, services.order)
  runRoutes(app, services)
  historyRoutes(app, services.history, services.downloads)
  taskRoutes(app, services.transforms)
  tokenRoutes(app, services.tokens, services.sessions)
  sessionRoutes(app, services.sessions, services.facts)
  sessionsRoutes(app, services.sessions)
  eventRoutes(app, services.hub, services.streams)
  notificationRoutes(app, services.notifications)
  aboutRoutes(app, services.about, services.connections)
  sourceRoutes(app, services.sources)
  healthRoutes(app, services.health)
  metricsRoutes(app, services.metrics)
}
