import { explainHeld, HELD_CODES, type Held } from './order.js'
import type { RunStatus } from './status.js'

/**
 * What a batch did to the mart. `read` counts the rows from the source; each of them is counted in one of the other
 * fields.
 */
export interface RowCounts {
  readonly read: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly quarantined: number
  /** Rows that were replaced by another row of the same batch with the same key. */
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

export function sumRows(a: RowCounts, b: RowCounts): RowCounts {
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

/** Rows written to the mart: inserted and updated. Unchanged rows are not rewritten. */
export function rowsWritten(rows: RowCounts): number {
  return rows.inserted + rows.updated
}

/** An audit that found rows which differ from the query. */
export interface FailedAudit {
  /** Rows that differ in the scopes that were compared. */
  readonly rows: number
  readonly scopes: number
  /** One of them. */
  readonly key: string
  /** The statements that followed the last changes to the mart. */
  readonly keyQueries: string
}

/** What a run cost the databases that it worked with. */
export interface RunCost {
  /** Blocks of tables and indexes that its sessions accessed, in memory or on disk. */
  readonly blocksRead: number
  readonly walBytes: number
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
  /** Into how many parts it is cut; 0: it is one stream. */
  readonly partsTotal: number
  readonly partsDone: number
  readonly error: string | null
  readonly errorCode: string | null
  readonly errorHint: string | null
  /** What prevents an incremental run from moving its checkpoint to the last row it wrote. */
  readonly heldBack: HeldBack | null
  /** Why a requested run is not claimed; null: it waits for a free slot. */
  readonly waiting: Waiting | null
  /** Null: the databases do not report it. */
  readonly cost: RunCost | null
  /** The id of this run in an external orchestrator. */
  readonly externalRef: string | null
  readonly cancelRequested: boolean
  /** The trace of its request; null: none. */
  readonly traceId: string | null
  /** Those that did not end the run, oldest first. Includes the newest while the run waits to be claimed again. */
  readonly attempts: readonly PastAttempt[]
}

/**
 * failed           with an error, and the same runner tried again
 * runner_died      its lease expired: the runner was killed, froze, or lost the meta store
 * given_back       the runner was stopped, and handed the run back after its batch
 * connection_lost  the runner lost a database connection, and handed the run back
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

/** The neighbours of a run in the history of its pipeline. */
export interface RunSurroundings {
  readonly previousId: string | null
  readonly nextId: string | null
  /** The median of the rows written by the successful runs before it; null: fewer than three. */
  readonly usualRowsWritten: number | null
  /**
   * The rows read by the last run that read everything; null: this run does not read everything, or is the first that
   * does.
   */
  readonly expectedRowsRead: number | null
}

export const WAITING_CODES = ['NO_RUNNER', 'NO_RUNNER_FOR_TAGS', 'CONNECTION_LIMIT', ...HELD_CODES] as const

/** As the functions etl.why_waiting and, for a run that was requested together with others, etl.why_held return it. */
export type Waiting =
  | Held
  | { readonly code: 'NO_RUNNER' }
  | { readonly code: 'NO_RUNNER_FOR_TAGS'; readonly tags: readonly string[] }
  | {
      readonly code: 'CONNECTION_LIMIT'
      readonly connection: string
      readonly runs: number
      readonly limit: number
    }

/** What a requested run waits for, in words, and what to do about it. */
export function explainWaiting(waiting: Waiting): { readonly detail: string; readonly hint: string } {
  switch (waiting.code) {
    case 'NO_RUNNER':
      return { detail: 'No runner is alive.', hint: 'Start one with "vitrina runner".' }
    case 'NO_RUNNER_FOR_TAGS':
      return {
        detail: noRunnerFor(waiting.tags),
        hint: 'Start a runner whose RUNNER_TAGS has slots for it, or change the tags of the pipeline.',
      }
    case 'CONNECTION_LIMIT':
      return {
        detail: `Connection ${waiting.connection} is at its limit: ${waiting.runs} of ${waiting.limit} concurrent runs and parts.`,
        hint: 'The run starts when one of them ends. CONNECTION_LIMITS sets the limit.',
      }
    default:
      return explainHeld(waiting)
  }
}

export function noRunnerFor(tags: readonly string[]): string {
  if (tags.length === 0) return 'No runner accepts pipelines without tags.'
  return tags.length === 1
    ? `No runner accepts the tag ${tags[0]}.`
    : `No runner accepts the tags ${tags.join(', ')} together.`
}

/** An open transaction that could still commit rows with older keys than those already read. */
export interface HeldBack {
  readonly reason: string
  readonly pid: number | null
  readonly since: string | null
}

/** A quarantined row whose retry is requested. */
export interface HeldRow {
  readonly id: number
  readonly key: string
  readonly columns: readonly string[]
  readonly texts: readonly (string | null)[]
}

/** A row that differs according to a comparison, and whose repair is requested. */
export interface RepairKey {
  readonly id: number
  readonly key: readonly (string | null)[]
}

/** A row that the target rejected, as read from the source. */
export interface RefusedRow {
  readonly key: string
  readonly columns: readonly string[]
  readonly texts: readonly (string | null)[]
  readonly reason: string
  readonly sqlstate: string | null
  /** The check that it failed; absent: the target rejected it. */
  readonly check?: string
}
