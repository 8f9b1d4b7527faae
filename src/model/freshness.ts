import { explainWaiting, type HeldBack, type Waiting } from './run.js'

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const
const LONGEST_SECONDS = 366 * UNITS.d

/** `90s`, `5m`, `1h30m` in seconds; null if it is not such a duration. The same as etl.duration_seconds. */
export function budgetSeconds(text: string): number | null {
  if (!/^(?:\d{1,9}[smhd]){1,4}$/.test(text)) return null
  const parts = text.split(/(?<=[smhd])/)
  const length = (part: string) => Number(part.slice(0, -1)) * UNITS[part.at(-1) as keyof typeof UNITS]
  const seconds = parts.reduce((sum, part) => sum + length(part), 0)
  return seconds >= 1 && seconds <= LONGEST_SECONDS ? seconds : null
}

/** The phases of a batch that can be too slow, as a sentence names them. */
const SLOW_PHASES = {
  SLOW_READ: 'reading',
  SLOW_TRANSFORM: 'transforms',
  SLOW_WRITE: 'writing',
  SLOW_CHECKPOINT: 'checkpoints',
} as const
type SlowPhase = keyof typeof SLOW_PHASES

const FAILURES = ['FAILED', 'BRAKE', 'QUARANTINE', 'RETRYING', 'CONNECTION_LOST', 'CAPTURE_FAILING'] as const

const UNCLAIMED = ['NO_RUNNER', 'NO_RUNNER_FOR_TAGS', 'CONNECTION_LIMIT'] as const

export const STALE_CODES = [
  ...['DISABLED', 'PAUSED', 'PAUSING', 'NEVER_RUN', 'CANCELLED', 'QUEUE', 'RUNNER_SILENT'],
  ...FAILURES,
  ...UNCLAIMED,
  'UPSTREAM',
  ...['LOCK', 'HELD_BACK', 'CAPTURE_STOPPED', 'FIRST_LOAD', 'SLOW_FIRST_BATCH', 'SLOW_RUN'],
  ...Object.keys(SLOW_PHASES),
] as [StaleCause['code'], ...StaleCause['code'][]]

interface Failed {
  readonly code: (typeof FAILURES)[number]
  readonly errorCode: string | null
  readonly error: string | null
  readonly hint?: string | null
  readonly attempt?: number
}

/** A session that holds a lock for which a run waits. */
export interface Blocker {
  readonly side: 'source' | 'target'
  readonly pid: number
  readonly application: string
  readonly table: string | null
  readonly since: string | null
}

/** Why the data of a mart is not newer: as the function etl.staleness returns it, or a lock found in the databases. */
export type StaleCause =
  | { readonly code: 'DISABLED' | 'NEVER_RUN' | 'CAPTURE_STOPPED' }
  | { readonly code: 'PAUSED' | 'PAUSING' | 'CANCELLED'; readonly since: string | null }
  | { readonly code: 'QUEUE'; readonly since: string; readonly ahead: number; readonly running: number }
  | { readonly code: 'RUNNER_SILENT'; readonly runner: string | null; readonly since: string | null }
  | Failed
  | Extract<Waiting, { readonly code: (typeof UNCLAIMED)[number] }>
  | {
      readonly code: 'UPSTREAM'
      readonly upstream: string
      /** Absent: the cause was stored by an older version. */
      readonly upstreamId?: string
      readonly cause: StaleCause | null
    }
  | ({ readonly code: 'LOCK' } & Blocker)
  | ({ readonly code: 'HELD_BACK' } & HeldBack)
  | { readonly code: 'FIRST_LOAD' | 'SLOW_FIRST_BATCH' | 'SLOW_RUN'; readonly seconds: number | null }
  | {
      readonly code: SlowPhase
      readonly seconds: number | null
      readonly share: number
      readonly finished: boolean
      /**
       * One statement reads and writes: the time beyond what writing the changed rows should take counts as reading.
       */
      readonly estimated?: boolean
    }

export interface Freshness {
  readonly pipelineId: string
  /** The mart contains everything that was committed in the source before this time; null: no run has succeeded. */
  readonly dataAsOf: string | null
  readonly ageSeconds: number | null
  /** How old the data may become; null: no limit. */
  readonly budgetSeconds: number | null
  /** The same, or less if a follower needs newer data. */
  readonly neededSeconds: number | null
  /** The name of that follower; null: its own limit is the tightest. */
  readonly neededBy: string | null
  readonly breached: boolean
  /** When a run will be requested; null: by its schedule or on request only. */
  readonly dueAt: string | null
  /** Null: the data is not too old. */
  readonly cause: StaleCause | null
  /** What held the checkpoint back in the last run, with the age of its transaction: the next run reads more. Null: nothing. */
  readonly heldBack: (HeldBack & { readonly seconds: number | null }) | null
}

/** The chain of upstreams behind a cause, and what makes the last of them too old; null: that is not known. */
export function rootOf(cause: StaleCause): {
  readonly upstreams: readonly string[]
  readonly root: StaleCause | null
} {
  const upstreams: string[] = []
  let root: StaleCause | null = cause
  for (; root?.code === 'UPSTREAM'; root = root.cause) upstreams.push(root.upstream)
  return { upstreams, root }
}

export interface Explained {
  readonly detail: string
  readonly hint: string
}

/** A cause in words, and what to do about it. */
export function explainStaleness(cause: StaleCause): Explained {
  const explain = EXPLANATIONS[cause.code] as (cause: StaleCause) => Explained
  return explain(cause)
}

type Explanations = {
  readonly [C in StaleCause['code']]: (cause: Extract<StaleCause, { code: C }>) => Explained
}

function failure(detail: (cause: Failed) => string, fallback: string): (cause: Failed) => Explained {
  return (cause) => ({
    detail: `${detail(cause)}${cause.error === null ? '' : `: ${cause.error}`}`,
    hint: cause.hint ?? fallback,
  })
}

function slow(cause: {
  readonly code: SlowPhase
  readonly seconds: number | null
  readonly share: number
  readonly finished: boolean
}): Explained {
  const share = Math.round(Math.min(1, cause.share) * 100)
  const took = cause.finished
    ? `The last run took ${inSeconds(cause.seconds)}`
    : `The run has been in progress for ${inSeconds(cause.seconds)}`
  return {
    detail: `${took}; its batches spend ${share} % of their time on ${SLOW_PHASES[cause.code]}.`,
    hint: PHASE_HINTS[cause.code],
  }
}

const PHASE_HINTS: Readonly<Record<SlowPhase, string>> = {
  SLOW_READ:
    'Check the query plan with "vitrina pipelines validate"; capture xmin or wal reads only what changed.',
  SLOW_TRANSFORM: 'Make the transform faster, or set parallelism so that several runners work on it.',
  SLOW_WRITE: 'Check the triggers, indexes and locks of the mart.',
  SLOW_CHECKPOINT: 'Raise batch_size or set it to auto: each batch commits its checkpoint.',
}

const EXPLANATIONS: Explanations = {
  DISABLED: () => ({ detail: 'The pipeline is disabled.', hint: 'Enable it: "vitrina pipelines enable".' }),
  NEVER_RUN: () => ({
    detail: 'The pipeline has not run yet.',
    hint: 'The pipeline is due: a runner requests a run within seconds.',
  }),
  CAPTURE_STOPPED: () => ({
    detail: 'No runner reads the changes of the source database.',
    hint: 'Check the source on the Sources page, and start a runner that can connect to it.',
  }),
  PAUSED: ({ since }) => ({
    detail: `The pipeline is paused${sinceText(since)}.`,
    hint: 'Run it to resume.',
  }),
  PAUSING: ({ since }) => ({
    detail: `The pipeline pauses after the current batch of its run, which started at ${since}.`,
    hint: 'Run it again when it is paused.',
  }),
  CANCELLED: ({ since }) => ({
    detail: `The last run was cancelled${since === null ? '' : ` at ${since}`}.`,
    hint: 'Run it again, or wait: the next run is requested one freshness period after it was cancelled.',
  }),
  QUEUE: ({ since, ahead, running }) => ({
    detail: `The run has waited for a free slot since ${since}: ${counted(running, 'run is', 'runs are')} in progress, and ${counted(ahead, 'request is', 'requests are')} older.`,
    hint: 'Start more runners or raise RUNNER_CONCURRENCY.',
  }),
  RUNNER_SILENT: ({ runner, since }) => ({
    detail: `The runner ${runner ?? ''} that holds the run does not respond; its lease expires at ${since}.`,
    hint: 'Another runner resumes the run when the lease expires. Check the host of that runner.',
  }),
  FAILED: failure(
    ({ errorCode }) => `The last run failed with ${errorCode}`,
    'Fix the cause and run the pipeline again.',
  ),
  BRAKE: failure(
    () => 'The last run was stopped by the delete brake',
    'Check the source, then raise delete_brake for one run.',
  ),
  QUARANTINE: failure(
    () => 'The last run quarantined more rows than quarantine_limit allows',
    'Fix the rows or raise quarantine_limit.',
  ),
  RETRYING: failure(
    ({ attempt }) => `The run is retrying after an error (attempt ${attempt})`,
    'Fix the cause; the run then continues automatically.',
  ),
  CONNECTION_LOST: failure(
    () => 'The run lost its connection to a database',
    'Check that the database is reachable from the runners; the run then continues automatically.',
  ),
  CAPTURE_FAILING: failure(
    () => 'The changes of the source database cannot be read',
    'Check the source on the Sources page.',
  ),
  NO_RUNNER: explainWaiting,
  NO_RUNNER_FOR_TAGS: explainWaiting,
  CONNECTION_LIMIT: explainWaiting,
  UPSTREAM: ({ upstream, cause }) => {
    if (cause === null)
      return {
        detail: `It follows ${upstream}, whose data is too old.`,
        hint: `Check the runs of ${upstream}.`,
      }
    const { detail, hint } = explainStaleness(cause)
    return { detail: `It follows ${upstream}, whose data is too old: ${detail}`, hint }
  },
  LOCK: ({ side, pid, application, table, since }) => ({
    detail: `The run waits for a lock${table === null ? '' : ` on ${table}`} in the ${side} database, held by session ${pid}${application === '' ? '' : ` (${application})`}${since === null ? '' : `, whose transaction began at ${since}`}.`,
    hint: 'End that transaction; the run then continues automatically.',
  }),
  HELD_BACK: ({ reason, pid, since }) => ({
    detail: `${reason}${pid === null || reason.includes(String(pid)) ? '' : ` (session ${pid})`}${since === null || reason.includes(since) ? '' : `, open since ${since}`}`,
    hint: 'End that transaction on the source. Until then, every run reads the rows after it again.',
  }),
  FIRST_LOAD: ({ seconds }) => ({
    detail: `The first load has been running for ${inSeconds(seconds)} and has not finished yet.`,
    hint: 'Wait until it finishes; parallelism speeds up the first load of a large table.',
  }),
  SLOW_READ: slow,
  SLOW_TRANSFORM: slow,
  SLOW_WRITE: slow,
  SLOW_CHECKPOINT: slow,
  SLOW_FIRST_BATCH: ({ seconds }) => ({
    detail: `The run has been in progress for ${inSeconds(seconds)} and has not committed a batch yet.`,
    hint: 'Check the query plan with "vitrina pipelines validate".',
  }),
  SLOW_RUN: ({ seconds }) => ({
    detail: `The last run took ${inSeconds(seconds)}, and the next one is already due.`,
    hint: 'Increase freshness, or make the run faster.',
  }),
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}

function inSeconds(seconds: number | null): string {
  return `${Math.round(seconds ?? 0)} s`
}

function sinceText(since: string | null): string {
  return since === null ? '' : ` since ${since}`
}
