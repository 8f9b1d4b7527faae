import type { Pipeline } from '../model/pipeline.js'
import type { Reconciliation } from '../model/reconcile.js'
import type { Run } from '../model/run.js'
import { aboutError } from './facts.js'
import type { Logger } from './log.js'
import type { Meter } from './meter.js'

export interface Answer {
  readonly method: string
  readonly path: string
  /** The pattern that took the path. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  /** Asked every few seconds by a machine. */
  readonly quiet: boolean
}

/** What happens in the API, one method per fact; the runner's facts are in events.ts. */
export class ApiEvents {
  readonly #log: Logger
  readonly #meter: Meter

  constructor(log: Logger, meter: Meter) {
    this.#log = log
    this.#meter = meter
  }

  /** Also when the same run was asked for again: then its status tells how far it is. */
  runRequested(run: Run): void {
    const about = { pipeline: run.pipelineName, pipeline_id: run.pipelineId, run_id: run.id }
    this.#log.info('Run requested.', { ...about, status: run.status, trigger: run.trigger })
  }

  pauseRequested({ name, id, status }: Pipeline): void {
    this.#log.info('Pause requested.', { pipeline: name, pipeline_id: id, status })
  }

  cancelRequested(run: Run): void {
    const about = { pipeline: run.pipelineName, pipeline_id: run.pipelineId, run_id: run.id }
    this.#log.info('Cancel requested.', { ...about, status: run.status })
  }

  /** Only a deep comparison says how many rows differ. */
  reconciled({ name, id }: Pipeline, { matches, deep }: Reconciliation): void {
    const counts = deep && {
      missing: deep.missing.count,
      extra: deep.extra.count,
      different: deep.different.count,
    }
    if (counts !== null) this.#meter.reconciled(name, counts)
    this.#log.info(matches ? 'Compared: the mart equals its source.' : 'Compared: the mart differs.', {
      pipeline: name,
      pipeline_id: id,
      ...counts,
    })
  }

  /** `action` as the audit calls it. */
  configured(action: string, { name, id, configVersion }: Pipeline): void {
    const about = { pipeline: name, pipeline_id: id, action }
    this.#log.info('Configuration changed.', { ...about, config_version: configVersion })
  }

  deleted(id: string): void {
    this.#log.info('Pipeline deleted.', { pipeline_id: id })
  }

  /** Somebody may do less or more than before. */
  accessChanged(action: string, name: string, role: string): void {
    this.#log.info('Access changed.', { action, name, role })
  }

  /** A request was answered, well or not. */
  answered({ method, path, route, status, durationMs, quiet }: Answer): void {
    this.#meter.request({ method, route, status, seconds: durationMs / 1000 })
    const facts = { method, route, status, duration_ms: Math.round(durationMs) }
    this.#log[quiet && status < 500 ? 'debug' : 'info'](`${method} ${path} answered ${status}.`, facts)
  }

  /** A request failed in a way that its caller cannot mend. */
  requestFailed(error: Error): void {
    this.#log.error('Request failed.', aboutError(error))
  }

  metaStoreLost(error: Error): void {
    this.#log.error('The meta store could not be asked.', aboutError(error))
  }

  notReady(error: Error): void {
    this.#log.warn('Not ready.', aboutError(error))
  }
}
