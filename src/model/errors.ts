import { cutText } from './cut-text.js'

/**
 * All errors of Vitrina in one table: a stable number, the class that decides what happens next, and the meaning.
 * The error reference is generated from it.
 *
 * class  what the dispatcher does with a run that ends this way
 * retry  three attempts, waiting 1 and 2 s
 * stop   the run fails at once: a retry cannot help
 * lost   the connection is gone: the run is left to recovery
 * stale  another runner holds the pipeline: this one must not write any more
 * release  the runner is stopping: the run is handed back, and any runner continues from the last checkpoint
 */
export const ERRORS = {
  SETTING_INVALID: { number: 1001, class: 'stop', means: 'A setting has an invalid value.' },
  EMBEDDED_FAILED: { number: 1002, class: 'stop', means: 'The embedded PostgreSQL could not be started.' },
  EMBEDDED_IN_USE: { number: 1003, class: 'stop', means: 'Another process is using this data folder.' },
  PORT_TAKEN: {
    number: 1004,
    class: 'stop',
    means: 'The address that the API should listen on is already in use.',
  },
  MIGRATION_CHANGED: {
    number: 1005,
    class: 'stop',
    means: 'An applied migration has been modified.',
  },
  MIGRATION_MISSING: {
    number: 1006,
    class: 'stop',
    means: 'The database schema is not at the version that this program needs.',
  },
  SERVER_TOO_OLD: {
    number: 1007,
    class: 'stop',
    means: 'The PostgreSQL server is older than the oldest supported version.',
  },
  POOLER_UNSUITABLE: {
    number: 1008,
    class: 'stop',
    means: 'A connection pooler does not keep one server session for each connection.',
  },
  PROCESS_FAILED: {
    number: 1010,
    class: 'stop',
    means: 'A process of "vitrina up" did not start, or kept exiting after restarts.',
  },
  PIPELINE_INVALID: { number: 1101, class: 'stop', means: 'The configuration of a pipeline is invalid.' },
  CONNECTION_UNKNOWN: {
    number: 1102,
    class: 'stop',
    means: 'A pipeline refers to a connection that is not configured.',
  },
  TASK_PLAN_INVALID: {
    number: 1103,
    class: 'stop',
    means: 'The task plan of a pipeline has steps that cannot run.',
  },
  ORDER_CYCLE: {
    number: 1104,
    class: 'stop',
    means: 'The pipelines would form a cycle.',
  },
  AFTER_UNKNOWN: {
    number: 1105,
    class: 'stop',
    means: 'The field "after" refers to a pipeline that does not exist.',
  },
  GROUP_UNSUPPORTED: {
    number: 1106,
    class: 'stop',
    means: 'A pipeline cannot be published together with others.',
  },
  USAGE_INVALID: { number: 1201, class: 'stop', means: 'Invalid command usage.' },
  CONTEXT_UNKNOWN: {
    number: 1202,
    class: 'stop',
    means: 'No context has this name, or the context file cannot be read or written.',
  },
  SERVER_UNREACHABLE: { number: 1203, class: 'stop', means: 'No Vitrina API responds at this address.' },
  FILE_INVALID: { number: 1204, class: 'stop', means: 'A pipeline file contains errors.' },
  APPLY_INCOMPLETE: {
    number: 1205,
    class: 'stop',
    means: 'Only some of the changes of "vitrina apply" were made.',
  },
  SOURCE_REFUSED: { number: 2001, class: 'stop', means: 'The source query is not allowed.' },
  SOURCE_QUERY_FAILED: { number: 2002, class: 'stop', means: 'PostgreSQL rejected the source query.' },
  SOURCE_CHANGED: {
    number: 2003,
    class: 'stop',
    means: 'The columns of the source query changed during a run.',
  },
  SOURCE_TOO_SLOW: {
    number: 2004,
    class: 'stop',
    means: 'The source query exceeded the time limit for validation and preview.',
  },
  KEY_MISSING: {
    number: 2101,
    class: 'stop',
    means: 'The query does not return a column that the pipeline needs.',
  },
  KEY_NULL: { number: 2102, class: 'stop', means: 'A key column contains NULL, so rows could be missed.' },
  KEY_UNORDERED: { number: 2103, class: 'stop', means: 'The type of a key cannot be ordered reliably.' },
  HORIZON_BLIND: {
    number: 2104,
    class: 'stop',
    means: 'The reader login cannot see when open transactions began.',
  },
  CAPTURE_UNSUPPORTED: {
    number: 2105,
    class: 'stop',
    means: 'The query does not support the chosen capture.',
  },
  CAPTURE_UNAVAILABLE: {
    number: 2106,
    class: 'stop',
    means: 'The source is not prepared for capturing changes from its WAL.',
  },
  CAPTURE_BEHIND: {
    number: 2107,
    class: 'retry',
    means: 'The change log of the source did not catch up with the run in time.',
  },
  CAPTURE_WAITING: {
    number: 2108,
    class: 'retry',
    means: 'A new replication slot waits for transactions that are open on the source.',
  },
  TRANSFORM_UNKNOWN: {
    number: 3001,
    class: 'stop',
    means: 'A task refers to a transform that is not registered.',
  },
  TRANSFORM_FAILED: { number: 3002, class: 'retry', means: 'A transform raised an error.' },
  TRANSFORM_KILLED: {
    number: 3003,
    class: 'retry',
    means: 'A transform exceeded its time or memory limit, or ended its process.',
  },
  TRANSFORM_RESULT: {
    number: 3004,
    class: 'stop',
    means: 'A transform returned something other than rows of the mart.',
  },
  TRANSFORM_HOST_MISSING: {
    number: 3005,
    class: 'stop',
    means: 'The process that runs transforms cannot be started.',
  },
  TARGET_REFUSED: { number: 4001, class: 'stop', means: 'The target is not allowed.' },
  TARGET_MISMATCH: {
    number: 4002,
    class: 'stop',
    means: 'The target table does not match the columns of the query.',
  },
  TARGET_KEY_MISSING: { number: 4003, class: 'stop', means: 'The target has no unique key to upsert by.' },
  SINK_MISSING: {
    number: 4004,
    class: 'stop',
    means: 'This kind of target is not configured, or its client is not installed.',
  },
  TARGET_VALUE: {
    number: 4005,
    class: 'stop',
    means: 'The target cannot store a type or a value of the query.',
  },
  TARGET_FAILED: {
    number: 4006,
    class: 'stop',
    means: 'PostgreSQL rejected a statement on the target database.',
  },
  TARGET_TAKEN: {
    number: 4007,
    class: 'stop',
    means: 'Another pipeline writes to the same target.',
  },
  MART_MISSING: { number: 4030, class: 'stop', means: 'The mart does not exist yet.' },
  MART_UNREADABLE: {
    number: 4031,
    class: 'stop',
    means: 'The login of the API may not read the mart.',
  },
  MART_TOO_SLOW: {
    number: 4032,
    class: 'stop',
    means: 'Reading rows of the mart exceeded the time limit.',
  },
  ROWS_UNSUPPORTED: {
    number: 4033,
    class: 'stop',
    means: 'Rows of this kind of target cannot be shown.',
  },
  ROWS_REFUSED: {
    number: 4101,
    class: 'stop',
    means: 'The target rejected more rows than quarantine_limit allows.',
  },
  BRAKE: {
    number: 4102,
    class: 'stop',
    means: 'A run would delete a larger share of the mart than delete_brake allows.',
  },
  CHECK_FAILED: { number: 4103, class: 'stop', means: 'A data check failed.' },
  CHECK_INVALID: { number: 4104, class: 'stop', means: 'A data check cannot be evaluated.' },
  SINK_UNAVAILABLE: { number: 4201, class: 'retry', means: 'The target server does not respond.' },
  SINK_OVERLOADED: { number: 4202, class: 'retry', means: 'The target server is overloaded.' },
  SINK_REFUSED: { number: 4203, class: 'stop', means: 'The target server rejected the request.' },
  SINK_LOGIN: {
    number: 4204,
    class: 'stop',
    means: 'The target server rejected the credentials.',
  },
  SINK_BLOCKED: { number: 4205, class: 'retry', means: 'The target is write-protected.' },
  SINK_GONE: { number: 4206, class: 'retry', means: 'The target disappeared or changed during the run.' },
  TRANSITION_REFUSED: {
    number: 5001,
    class: 'stop',
    means: 'A pipeline cannot change from its current status to the requested one.',
  },
  LEASE_LOST: { number: 5002, class: 'stale', means: 'Another runner holds the pipeline now.' },
  RUNNER_DIED_AGAIN: {
    number: 5003,
    class: 'stop',
    means: 'Runners repeatedly died while running this pipeline, without making progress.',
  },
  RUNNER_STOPPED: {
    number: 5004,
    class: 'release',
    means: 'The runner was stopped before the run ended and handed the run back.',
  },
  ENGINE_UNSUPPORTED: {
    number: 5005,
    class: 'stop',
    means: 'The engine cannot execute this pipeline.',
  },
  ENGINE_UNAVAILABLE: {
    number: 5006,
    class: 'stop',
    means: 'The engine is not configured, or its program cannot be started.',
  },
  ENGINE_FAILED: {
    number: 5007,
    class: 'stop',
    means: 'The engine repeatedly ended without completing a part.',
  },
  GROUP_FAILED: {
    number: 5008,
    class: 'stop',
    means: 'Another member of the group failed, so the group was not published.',
  },
  PIPELINE_NOT_FOUND: { number: 5101, class: 'stop', means: 'The pipeline does not exist.' },
  RUN_NOT_FOUND: { number: 5102, class: 'stop', means: 'The run does not exist.' },
  PIPELINE_DISABLED: { number: 5103, class: 'stop', means: 'The pipeline is disabled.' },
  PIPELINE_NAME_TAKEN: { number: 5104, class: 'stop', means: 'Another pipeline has this name.' },
  PIPELINE_BUSY: {
    number: 5105,
    class: 'stop',
    means: 'This cannot be changed while the pipeline is running.',
  },
  CHECKPOINT_INVALID: {
    number: 5106,
    class: 'stop',
    means: 'The change would invalidate the checkpoint.',
  },
  VERSION_STALE: { number: 5107, class: 'stop', means: 'The configuration has changed in the meantime.' },
  VERSION_NOT_FOUND: { number: 5108, class: 'stop', means: 'The configuration version does not exist.' },
  RUN_ACTIVE: {
    number: 5109,
    class: 'stop',
    means: 'Another run of the pipeline is requested or in progress.',
  },
  QUARANTINE_NOT_FOUND: { number: 5110, class: 'stop', means: 'The quarantined row does not exist.' },
  QUARANTINE_SETTLED: {
    number: 5111,
    class: 'stop',
    means: 'The quarantined row has already been replayed or discarded.',
  },
  PIPELINE_MANAGED: {
    number: 5114,
    class: 'stop',
    means: 'The pipeline is managed by a file and must be changed there.',
  },
  TOKEN_NOT_FOUND: { number: 5112, class: 'stop', means: 'The token does not exist.' },
  TOKEN_ENDED: { number: 5115, class: 'stop', means: 'The token was revoked or has expired.' },
  SESSION_NOT_FOUND: { number: 5116, class: 'stop', means: 'The session does not exist.' },
  LINEAGE_NOT_FOUND: {
    number: 5130,
    class: 'stop',
    means: 'No pipeline reads or writes the requested object.',
  },
  REPAIR_INCOMPLETE: {
    number: 5113,
    class: 'stop',
    means: 'Rows still differ from the source after the repair.',
  },
  RUN_NOT_SUCCEEDED: {
    number: 5120,
    class: 'stop',
    means: 'The run that a command waited for did not succeed.',
  },
  NOTIFICATION_NOT_FOUND: { number: 5140, class: 'stop', means: 'The notification rule does not exist.' },
  NOTIFICATION_NAME_TAKEN: { number: 5141, class: 'stop', means: 'Another notification rule has this name.' },
  MESSAGE_NOT_FOUND: { number: 5142, class: 'stop', means: 'No undelivered notification has this id.' },
  CHANNEL_UNKNOWN: { number: 5143, class: 'stop', means: 'The notification channel is not configured.' },
  CHANNEL_REFUSED: {
    number: 5144,
    class: 'stop',
    means: 'Notifications may not be sent to this host or address.',
  },
  CHANNEL_FAILED: { number: 5145, class: 'retry', means: 'A notification could not be delivered.' },
  UNAUTHENTICATED: { number: 7001, class: 'stop', means: 'The request has no valid token.' },
  FORBIDDEN: { number: 7002, class: 'stop', means: 'The role of the token does not allow this.' },
  RATE_LIMITED: { number: 7003, class: 'retry', means: 'Too many requests in a short time.' },
  CROSS_SITE: {
    number: 7004,
    class: 'stop',
    means: 'A request with a session did not come from the console.',
  },
  TOKEN_REQUIRED: {
    number: 7005,
    class: 'stop',
    means: 'A session is not enough for this request: it must carry the token.',
  },
  TOO_MANY_CHECKS: {
    number: 7010,
    class: 'retry',
    means: 'Too many validations, previews or comparisons are running.',
  },
  TOO_MANY_STREAMS: {
    number: 7011,
    class: 'retry',
    means:
      'Too many responses are open: event streams, downloads, requests that wait for runs, or unread ones.',
  },
  REQUEST_INVALID: { number: 7101, class: 'stop', means: 'The request is invalid.' },
  IDEMPOTENCY_KEY_REUSED: {
    number: 7103,
    class: 'stop',
    means: 'The idempotency key belongs to another request.',
  },
  ROUTE_NOT_FOUND: { number: 7102, class: 'stop', means: 'The route does not exist.' },
  DATABASE_UNAVAILABLE: { number: 9001, class: 'lost', means: 'The connection to a database failed.' },
  DATABASE_ERROR: { number: 9002, class: 'retry', means: 'PostgreSQL reported a temporary error.' },
  META_STORE_FAILED: {
    number: 9003,
    class: 'stop',
    means: 'PostgreSQL rejected a statement on the meta store.',
  },
  DATABASE_LOGIN: {
    number: 9004,
    class: 'stop',
    means: 'PostgreSQL rejected the login, or the database does not exist.',
  },
  DATABASE_MESSAGE_TOO_LARGE: {
    number: 9010,
    class: 'stop',
    means: 'PostgreSQL sent a message that is larger than Vitrina accepts.',
  },
  INTERNAL: { number: 9999, class: 'retry', means: 'Unexpected error.' },
} as const satisfies Record<string, { number: number; class: ErrorClass; means: string }>

export type ErrorClass = 'retry' | 'stop' | 'lost' | 'stale' | 'release'
export type ErrorCode = keyof typeof ERRORS

/** An error in one field, for people (message) and programs (code). */
export interface Mistake {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** PostgreSQL quotes values of any size in its messages. */
const MOST_CHARACTERS = 16_384

interface ErrorOptions {
  readonly cause?: unknown
  readonly sqlstate?: string
  readonly facts?: Readonly<Record<string, unknown>>
  /** The invalid field of the pipeline, if it is exactly one. */
  readonly field?: string
  readonly mistakes?: readonly Mistake[]
}

/** An error that a person can act on: the code, a sentence with the facts, a hint with the remedy. */
export class VitrinaError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  /** The SQLSTATE, if PostgreSQL reported the error. */
  readonly sqlstate: string | null
  /** What a program needs to react, such as the id of the conflicting run. Shown next to the message. */
  readonly facts: Readonly<Record<string, unknown>>
  /** The invalid fields of the pipeline, where known. */
  readonly mistakes: readonly Mistake[]

  // biome-ignore lint/complexity/useMaxParams: every throw names code, fact and hint in this order; options are rare.
  constructor(code: ErrorCode, detail: string, hint: string, options: ErrorOptions = {}) {
    super(
      cutText(detail, MOST_CHARACTERS),
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'VitrinaError'
    this.code = code
    this.hint = hint
    this.sqlstate = options.sqlstate ?? null
    this.facts = options.facts ?? {}
    this.mistakes =
      options.field === undefined
        ? (options.mistakes ?? [])
        : [{ field: options.field, code, message: detail }]
  }

  get class(): ErrorClass {
    return ERRORS[this.code].class
  }

  /** `VTR-4102`, as docs/reference/errors.md lists it. */
  get vtr(): string {
    return vtr(this.code)
  }
}

export function vtr(code: ErrorCode): string {
  return `VTR-${ERRORS[code].number}`
}

/** The code of a number such as VTR-4102, as runs store it; anything else is returned unchanged. */
export function codeName(number: string): string {
  const codes = Object.keys(ERRORS) as ErrorCode[]
  return codes.find((code) => vtr(code) === number) ?? number
}
