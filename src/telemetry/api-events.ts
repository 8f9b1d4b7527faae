import type { Pipeline } from '../model/pipeline.js'
import type { Reconciliation } from '../model/reconcile.js'
import type { Run } from '../model/run.js'
import { aboutError } from './facts.js'
import type { Logger } from './log.js'
import type { Meter } from './meter.js'

export interface AnsweredRequest {
  readonly method: string
  readonly path: string
  /** The pattern that matched the path. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
  /** Requested every few seconds by a machine. */
  readonly quiet: boolean
}

/** Events of the API, one method per event; those of the runner are in events.ts. */
export class ApiEvents {
  readonly #log: Logger
  readonly #meter: Meter

  constructor(log: Logger, meter: Meter) {
    this.#log = log
    this.#meter = meter
  }

  /** Also if the same run was requested again: its status then shows its progress. */
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

  /** Only a deep comparison counts the rows that differ. */
  reconciled({ name, id }: Pipeline, { matches, deep }: Reconciliation): void {
    const counts = deep && {
      missing: deep.missing.count,
      extra: deep.extra.count,
      different: deep.different.count,
    }
    if (counts !== null) this.#meter.reconciled(name, counts)
    this.#log.info(matches ? 'Compared: the mart matches its source.' : 'Compared: the mart differs.', {
      pipeline: name,
      pipeline_id: id,
      ...counts,
    })
  }

  /** `action` as in the audit. */
  configured(action: string, { name, id, configVersion }: Pipeline): void {
    const about = { pipeline: name, pipeline_id: id, action }
    this.#log.info('Configuration changed.', { ...about, config_version: configVersion })
  }

  deleted(id: string): void {
    this.#log.info('Pipeline deleted.', { pipeline_id: id })
  }

  /** The permissions of a user changed. */
  accessChanged(action: string, name: string, role: string): void {
    this.#log.info('Access changed.', { action, name, role })
  }

  /** A request was answered, successfully or not. */
  answered({ method, path, route, status, durationMs, quiet }: AnsweredRequest): void {
    this.#meter.request({ method, route, status, seconds: durationMs / 1000 })
    const facts = { method, route, status, duration_ms: Math.round(durationMs) }
    this.#log[quiet && status < 500 ? 'debug' : 'info'](`${method} ${path} answered ${status}.`, facts)
  }

  /** A request failed, and its caller cannot fix it. */
  requestFailed(error: Error): void {
    this.#log.error('Request failed.', aboutError(error))
  }

  metaStoreLost(error: Error): void {
    this.#log.error('The meta store could not be queried.', aboutError(error))
  }

  notReady(error: Error): void {
    this.#log.warn('Not ready.', aboutError(error))
  }
}
