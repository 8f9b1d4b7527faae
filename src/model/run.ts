import type { RunStatus } from './status.js'

/** What a batch did to the mart. `read` is what the source gave; each of those rows is one of the others. */
export interface RowCounts {
  readonly read: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly quarantined: number
  /** Rows that another row of the same batch with the same key replaced. */
  readonly duplicates: number
}

export const NO_ROWS: RowCounts = {
  read: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  deleted: 0,
  quarantined: 0,
  duplicates: 0,
}

export function addRows(a: RowCounts, b: RowCounts): RowCounts {
  return {
    read: a.read + b.read,
    inserted: a.inserted + b.inserted,
    updated: a.updated + b.updated,
    unchanged: a.unchanged + b.unchanged,
    deleted: a.deleted + b.deleted,
    quarantined: a.quarantined + b.quarantined,
    duplicates: a.duplicates + b.duplicates,
  }
}

/** Rows that were put into the mart: new ones and changed ones. Unchanged rows are not rewritten. */
export function rowsWritten(rows: RowCounts): number {
  return rows.inserted + rows.updated
}

/** One execution of a pipeline, as the API shows it. */
export interface Run {
  readonly id: string
  readonly pipelineId: string
  readonly pipelineName: string
  readonly status: RunStatus
  readonly trigger: string
  readonly attempt: number
  readonly strategy: string | null
  readonly way: string | null
  readonly guarantee: string | null
  readonly configVersion: number
  readonly runnerId: string | null
  readonly requestedAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly durationMs: number | null
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly rowsInserted: number
  readonly rowsUpdated: number
  readonly rowsUnchanged: number
  readonly rowsDeleted: number
  readonly rowsQuarantined: number
  readonly rowsDuplicate: number
  readonly batches: number
  readonly error: string | null
  readonly errorCode: string | null
  readonly errorHint: string | null
  /** What keeps an incremental run from moving its checkpoint to the last row it wrote. */
  readonly heldBack: HeldBack | null
  /** How an orchestrator calls this run. */
  readonly externalRef: string | null
  readonly cancelRequested: boolean
  /** The trace that its request belongs to; null: none was named. */
  readonly traceId: string | null
  /** Those that did not end the run, oldest first. Includes the newest while the run waits to be taken up again. */
  readonly attempts: readonly PastAttempt[]
}

/**
 * failed           with an error, and the same runner tried again
 * runner_died      its lease expired: the runner was killed, froze, or lost the meta store
 * given_back       the runner was stopped, and handed the run back after its batch
 * connection_lost  the runner lost a database, and handed the run back
 */
export const ATTEMPT_ENDS = ['failed', 'runner_died', 'given_back', 'connection_lost'] as const
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number]

/** An attempt that did not end its run. */
export interface PastAttempt {
  readonly attempt: number
  readonly end: AttemptEnd
  readonly endedAt: string
  readonly runnerId: string | null
  readonly error: string | null
  readonly errorCode: string | null
  readonly errorHint: string | null
}

/** What stands around a run in the history of its pipeline. */
export interface RunSurroundings {
  readonly previousId: string | null
  readonly nextId: string | null
  /** The median of the successful runs before it; null: there are fewer than three. */
  readonly usualRowsWritten: number | null
  /** What the last run that read everything has read; null: this one does not read everything, or is the first to. */
  readonly expectedRowsRead: number | null
}

/** An open transaction that could still commit rows with older keys than those already read. */
export interface HeldBack {
  readonly reason: string
  readonly pid: number | null
  readonly since: string | null
}

/** A row of the quarantine that somebody wants to be tried again. */
export interface HeldRow {
  readonly id: number
  readonly key: string
  readonly columns: readonly string[]
  readonly texts: readonly (string | null)[]
}

/** A row that a comparison found different, and that somebody wants mended. */
export interface RepairKey {
  readonly id: number
  readonly key: readonly (string | null)[]
}

/** A row that the target refused, as the source gave it. */
export interface RefusedRow {
  readonly key: string
  readonly columns: readonly string[]
  readonly texts: readonly (string | null)[]
  readonly reason: string
  readonly sqlstate: string | null
}
