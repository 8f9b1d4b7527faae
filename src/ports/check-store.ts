import type { CheckResult, CheckState, CheckStatus } from '../model/check.js'
import type { Page, PageRequest } from './catalog.js'

export interface CheckFilter extends PageRequest {
  readonly pipelineId?: string | undefined
  /** Of the last result; unknown: the check has none yet. */
  readonly status?: CheckStatus | 'unknown' | undefined
}

/** The checks of pipelines and their results. */
export interface CheckStore {
  /** Every configured check with its last result, by pipeline. */
  listChecks(filter: CheckFilter): Promise<Page<CheckState>>
  /** Stores results that were requested without a run. No effect if the pipeline has been deleted meanwhile. */
  keepResults(pipelineId: string, results: readonly CheckResult[]): Promise<void>
  /** Numbers of rows that earlier results of a check observed, newest first. */
  usualRowsOf(pipelineId: string, check: string): Promise<number[]>
  /** Deletes older results that belong to no run. */
  forgetResults(days: number): Promise<void>
}
