import type { ConnectionLimits } from './claim.js'
import type { TagSlots } from './tag-slots.js'

/** `{field: {old, new}}`. */
export type FieldDiff = Readonly<Record<string, { readonly old: unknown; readonly new: unknown }>>

/** An earlier configuration. */
export interface PipelineVersion {
  readonly pipelineId: string
  readonly version: number
  readonly author: string
  readonly at: string
  /** With the field names of the API, including tasks. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly diff: FieldDiff
}

/** One entry of the audit. */
export interface AuditEntry {
  readonly id: number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly targetKind: string
  readonly targetId: string
  readonly targetName: string | null
  readonly diff: Readonly<Record<string, unknown>>
  readonly requestId: string | null
}

/** A committed batch of a run. */
export interface BatchHistory {
  readonly batch: number
  readonly attempt: number
  readonly step: string
  readonly rowsRead: number
  readonly rowsInserted: number
  readonly rowsUpdated: number
  readonly rowsUnchanged: number
  readonly rowsDeleted: number
  readonly rowsQuarantined: number
  readonly rowsDuplicate: number
  readonly firstKey: string | null
  readonly lastKey: string | null
  readonly durationMs: number
  readonly readMs: number | null
  readonly transformMs: number | null
  /** Null: committed by a runner that did not measure it. */
  readonly writeMs: number | null
  readonly checkpointMs: number | null
  readonly finishedAt: string
}

export const PART_STATUSES = ['PENDING', 'RUNNING', 'DONE', 'FAILED', 'LEFT'] as const

/** A part of a run: a range of keys. */
export interface PartHistory {
  readonly part: number
  readonly status: (typeof PART_STATUSES)[number]
  readonly afterKey: readonly string[] | null
  readonly lastKey: readonly string[] | null
  readonly runnerId: string | null
  readonly leaseUntil: string | null
  readonly attempts: number
  readonly rows: number
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

export const QUARANTINE_STATUSES = ['HELD', 'REPLAY_REQUESTED', 'REPLAYED', 'DISCARDED'] as const
export type QuarantineStatus = (typeof QUARANTINE_STATUSES)[number]

/** A row that the target rejected, stored with the reason. */
export interface QuarantinedRow {
  readonly id: number
  readonly pipelineId: string
  readonly pipelineName: string
  readonly runId: string
  readonly status: QuarantineStatus
  readonly key: string
  readonly row: Readonly<Record<string, string | null>>
  readonly reason: string
  readonly sqlstate: string | null
  /** The check that it failed; null: the target rejected it. */
  readonly check: string | null
  readonly refusedAt: string
  readonly settledAt: string | null
}

/** A runner and the pipelines it holds. */
export interface FleetRunner {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly concurrency: number
  /** Null: it takes every pipeline. */
  readonly tags: TagSlots | null
  readonly connectionLimits: ConnectionLimits
  readonly startedAt: string
  readonly heartbeatAt: string
  readonly heartbeatAgeMs: number
  readonly stoppedAt: string | null
  readonly holds: readonly HeldPipeline[]
}

export interface HeldPipeline {
  readonly pipelineId: string
  readonly name: string
  readonly status: string
  readonly runId: string
  readonly leaseUntil: string | null
}

/** An event in the journal, written by runners and by hand-written statements alike. */
export interface JournalEvent {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly pipelineId: string | null
  readonly runId: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** A log line of a runner about a run. */
export interface RunLogLine {
  readonly id: number
  readonly runId: string
  readonly at: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}
