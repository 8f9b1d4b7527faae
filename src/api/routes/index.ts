import type { Api } from '../schemas/type-provider.js'
import type { HealthService } from '../services/health.js'
import type { MetricsService } from '../services/metrics.js'
import type { PipelineService } from '../services/pipelines.js'
import type { RunService } from '../services/runs.js'
import { healthRoutes } from './health.js'
import { metricsRoutes } from './metrics.js'
import { pipelineRoutes } from './pipelines.js'
import { runRoutes } from './runs.js'

export interface Services {
  readonly pipelines: PipelineService
  readonly runs: RunService
  readonly health: HealthService
  readonly metrics: MetricsService
}

export function apiRoutes(app: Api, services: Services): void {
  pipelineRoutes(app, services.pipelines)
  runRoutes(app, services.runs)
  healthRoutes(app, services.health)
  metricsRoutes(app, services.metrics)
}
