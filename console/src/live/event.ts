import type { Comparison, EndedRun, RunStatus } from '../api/wire.js'

interface Common {
  readonly seq: number
  readonly at: string
  readonly pipeline_id: string
  readonly run_id: string | null
}

/** An event as GET /events sends it. */
export type LiveEvent = Common &
  (
    | { readonly kind: 'pipeline.created' | 'pipeline.deleted'; readonly name: string }
    | {
        readonly kind: 'pipeline.changed'
        readonly name: string
        readonly enabled: boolean
        readonly config_version: number
      }
    | {
        readonly kind: 'pipeline.status'
        readonly name: string
        readonly from: string
        readonly to: string
        readonly next_run_at?: string | null
      }
    | { readonly kind: 'pipeline.scheduled'; readonly name: string; readonly next_run_at: string | null }
    | ({ readonly kind: 'pipeline.compared' } & ComparisonFacts)
    | ({ readonly kind: 'quarantine.settled' } & SettledFacts)
    | ({ readonly kind: 'run.status' } & RunFacts)
    | ({ readonly kind: 'run.batch' } & BatchFacts)
  )

export interface RunFacts {
  readonly status: RunStatus
  readonly attempt: number
  readonly cancel_requested: boolean
  readonly runner_id: string | null
  readonly batches: number
  readonly rows_read: number
  readonly rows_written: number
  readonly rows_deleted: number
  readonly held_back?: EndedRun['held_back']
  readonly error: string | null
  readonly error_code: string | null
}

/** `at` is the end of the comparison, like that of the event. */
export type ComparisonFacts = Omit<Comparison, 'at'> & { readonly deep: boolean }

export interface SettledFacts {
  /** Rows whose status changed. */
  readonly rows: number
  /** Of these, the rows that were held before. */
  readonly released: number
}

export interface BatchFacts {
  readonly batch: number
  readonly attempt: number
  readonly step: string
  readonly rows_read: number
  readonly rows_inserted: number
  readonly rows_updated: number
  readonly rows_unchanged: number
  readonly rows_deleted: number
  readonly rows_quarantined: number
  readonly duration_ms: number
  readonly read_ms?: number | null
  readonly transform_ms?: number | null
  readonly write_ms?: number | null
  readonly checkpoint_ms?: number | null
}
