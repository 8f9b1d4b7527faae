import { z } from 'zod'
import { type BatchHistory, PART_STATUSES, type PartHistory, type RunLogLine } from '../../model/history.js'
import { ATTEMPT_ENDS, explainWaiting, type Run, WAITING_CODES } from '../../model/run.js'
import { RUN_STATUSES } from '../../model/status.js'
import type { RunStory } from '../services/runs.js'
import { RUN_EXAMPLE } from './examples.js'
import { moment } from './moment.js'
import { flag, pageQuery, pageQueryUpTo, pageSchema } from './page.js'
import { toWire } from './to-wire.js'
import { waitTime } from './wait-time.js'

export const heldBackWire = z.object({
  reason: z.string().describe('Why the checkpoint waits.'),
  pid: z.number().nullable().describe('The session of the source it waits for.'),
  since: z.string().nullable().describe('When that session began its transaction.'),
})

const waitingWire = z.object({
  code: z
    .enum(WAITING_CODES)
    .describe(
      'No runner is alive (NO_RUNNER), none has slots for the tags of the pipeline (NO_RUNNER_FOR_TAGS), or a connection has reached its limit (CONNECTION_LIMIT).',
    ),
  detail: z.string().describe('The same as a sentence.'),
  hint: z.string().describe('What to do.'),
})

const costWire = z.object({
  blocks_read: z.number().describe('Blocks of tables and indexes that it accessed.'),
  wal_bytes: z.number().describe('Bytes of WAL that it wrote.'),
})

const rows = (what: string) => z.number().describe(`Rows ${what}.`)

const rowResults = {
  rows_inserted: rows('inserted into the mart'),
  rows_updated: rows('updated in the mart'),
  rows_unchanged: rows('that were unchanged'),
  rows_deleted: rows('deleted from the mart'),
  rows_quarantined: rows('that the target rejected'),
  rows_duplicate: rows('replaced by another row of the same batch'),
}

export const runWire = z
  .object({
    id: z.string().describe('The id of the run.'),
    pipeline_id: z.string().describe('The id of its pipeline.'),
    pipeline_name: z.string().describe('The name of its pipeline.'),
    status: z.enum(RUN_STATUSES).describe('REQUESTED until a runner claims it.'),
    trigger: z
      .string()
      .describe(
        'The origin of the request: api, schedule or sql; repair: it repairs the differences found by a comparison.',
      ),
    external_ref: z.string().nullable().describe('The id of this run in an external orchestrator.'),
    cancel_requested: z.boolean().describe('It stops after its current batch.'),
    trace_id: z.string().nullable().describe('The trace of its request; null: none.'),
    attempt: z.number().describe('Attempts so far, over all runners.'),
    strategy: z
      .string()
      .nullable()
      .describe('The strategy: sql_full, sql_incremental, tasks_full, tasks_incremental.'),
    way: z.string().nullable().describe('The route of the rows: pushdown, relay or rows.'),
    guarantee: z.string().nullable().describe('What is guaranteed about lost rows.'),
    config_version: z.number().describe('The configuration version it uses.'),
    runner_id: z.string().nullable().describe('The runner that holds it or held it last.'),
    requested_at: z.string().describe('When it was requested.'),
    started_at: z.string().nullable().describe('When a runner first claimed it.'),
    finished_at: z.string().nullable().describe('When it ended.'),
    duration_ms: z.number().nullable().describe('The duration so far.'),
    rows_read: rows('read from the source'),
    rows_written: rows('inserted or updated'),
    ...rowResults,
    batches: z.number().describe('Batches committed.'),
    parts_total: z
      .number()
      .describe('Into how many parts the run is cut (parallelism); 0: it is one stream.'),
    parts_done: z.number().describe('Parts committed.'),
    error: z.string().nullable().describe('What went wrong.'),
    error_code: z.string().nullable().describe('Its code.'),
    error_hint: z.string().nullable().describe('How to fix it.'),
    held_back: heldBackWire.nullable().describe('The reason why the checkpoint does not advance.'),
    waiting: waitingWire
      .nullable()
      .describe('Why a REQUESTED run is not claimed. null: it waits for a free slot, or was claimed.'),
    cost: costWire
      .nullable()
      .describe('What the run cost the databases. null: they do not report it (before PostgreSQL 18).'),
  })
  .meta({ id: 'Run', examples: [RUN_EXAMPLE] })
export type RunWire = z.infer<typeof runWire>

export const runPage = pageSchema(runWire)
/** `status=FAILED&status=CANCELLED`, or `status=FAILED,CANCELLED` for people who type it. */
const statuses = z
  .union([z.string(), z.array(z.string()).max(20)])
  .transform((given) => [given].flat().flatMap((text) => text.split(',')))
  .pipe(z.array(z.enum(RUN_STATUSES)).min(1).max(20))

export const runsOfPipelineQuery = z.strictObject({
  ...pageQuery,
  status: statuses.optional().describe('Only runs with one of these statuses.'),
  since: moment.optional().describe('Only runs requested at or after this time.'),
  until: moment.optional().describe('Only runs requested before this time.'),
})
export const listRunsQuery = runsOfPipelineQuery.extend({
  pipeline_id: z.guid().optional().describe('Only runs of this pipeline.'),
})

export const oneRunQuery = z.strictObject({
  wait: waitTime.describe('Responds when the run has ended or this time is up (1s to 60s).'),
})

export const batchWire = z
  .object({
    batch: z.number().describe('Its number within the run.'),
    attempt: z.number().describe('The attempt that committed it.'),
    step: z.string().describe('The step of the run it belongs to.'),
    rows_read: rows('read from the source'),
    ...rowResults,
    first_key: z.string().nullable().describe('The key of its first row.'),
    last_key: z.string().nullable().describe('The key of its last row.'),
    duration_ms: z.number().describe('How long it took.'),
    read_ms: z
      .number()
      .nullable()
      .describe(
        'Time to read its rows, possibly ahead; null if the database reads and writes in one statement.',
      ),
    transform_ms: z
      .number()
      .nullable()
      .describe('Time of its transforms, possibly ahead; null without transforms.'),
    write_ms: z.number().nullable().describe('Time to write its rows; null if not measured.'),
    checkpoint_ms: z.number().nullable().describe('Time to move the checkpoint; null if not measured.'),
    finished_at: z.string().describe('When it was committed.'),
  })
  .meta({ id: 'Batch' })

export const batchPage = pageSchema(batchWire)

const partWire = z
  .object({
    part: z.number().describe('Its number within the run.'),
    status: z
      .enum(PART_STATUSES)
      .describe(
        'FAILED: the run tries it again, or fails with its error. LEFT: the run ended before it was committed.',
      ),
    after_key: z.array(z.string()).nullable().describe('Its rows come after this key; null: the first rows.'),
    last_key: z
      .array(z.string())
      .nullable()
      .describe('Up to and including this key; null: the last rows, and rows whose key is NULL.'),
    runner_id: z.string().nullable().describe('The runner that works on it, or worked on it last.'),
    lease_until: z.string().nullable().describe('When the lease of that runner expires.'),
    attempts: z.number().describe('How often it was claimed.'),
    rows: rows('read from the source'),
    started_at: z.string().nullable().describe('When it was claimed last.'),
    finished_at: z.string().nullable().describe('When it was committed.'),
  })
  .meta({ id: 'Part' })

export const partPage = pageSchema(partWire)

const logFilter = {
  errors_only: flag().optional().describe('Only warnings and errors.'),
  attempt: z
    .string()
    .regex(/^\d{1,6}$/, 'must be the number of an attempt')
    .transform(Number)
    .pipe(z.int().min(1).max(999_999))
    .optional()
    .describe('Only lines of this attempt.'),
  q: z.string().min(1).max(200).optional().describe('Part of the line or of its fields, case-insensitive.'),
}

export const logTextQuery = z.strictObject(logFilter)

const lineId = z
  .string()
  .regex(/^\d{1,15}$/, 'must be the id of a line')
  .transform(Number)
  .pipe(z.int().min(0))
  .optional()

export const logQuery = z.strictObject({
  ...pageQueryUpTo(1000),
  ...logFilter,
  last: flag()
    .optional()
    .describe(
      'From the end: the newest page first, the next page is older. Lines within a page are in order.',
    ),
  after: lineId.describe('Only lines after this id.'),
  before: lineId.describe('Only lines before this id.'),
})

const logLineWire = z
  .object({
    id: z.number().describe('Grows with every line.'),
    at: z.string().describe('When it was logged.'),
    level: z.string().describe('info, warn or error.'),
    message: z.string().describe('The message.'),
    fields: z.record(z.string(), z.unknown()).describe('The fields of the line.'),
  })
  .meta({ id: 'LogLine' })
export const logPage = pageSchema(logLineWire)

export function logLineToWire(line: RunLogLine) {
  return toWire(logLineWire, line)
}

const attemptWire = z
  .object({
    attempt: z.number().describe('Its number.'),
    end: z
      .enum(ATTEMPT_ENDS)
      .describe(
        'How it ended: with an error (failed), because its runner stopped responding (runner_died), because its runner was stopped and handed the run back (given_back), or because its runner lost a database connection and handed the run back (connection_lost).',
      ),
    ended_at: z.string().describe('When it ended; for runner_died, when the run was taken over.'),
    runner_id: z.string().nullable().describe('The runner that held it.'),
    error: z.string().nullable().describe('What went wrong.'),
    error_code: z.string().nullable().describe('Its code.'),
    error_hint: z.string().nullable().describe('How to fix it.'),
  })
  .meta({ id: 'PastAttempt' })

export const runDetailWire = runWire.extend({
  attempt_history: z
    .array(attemptWire)
    .describe(
      'The attempts that did not end the run, oldest first; the last 50 of them. If the newest has the number of the run, the run waits for a runner.',
    ),
  previous_run_id: z.string().nullable().describe('The previous run of the pipeline.'),
  next_run_id: z.string().nullable().describe('The next run of the pipeline.'),
  usual_rows_written: z
    .number()
    .nullable()
    .describe(
      'The median of the rows written by up to 20 successful runs before it; null: fewer than three.',
    ),
  expected_rows_read: z
    .number()
    .nullable()
    .describe(
      'The rows read by the last successful run of its kind; null: it does not read everything, or is the first.',
    ),
  batch_history: z
    .array(batchWire)
    .describe('The last 1,000 batches, newest first; /batches has all of them.'),
})

export function runToWire(run: Run): RunWire {
  const { heldBack, waiting, cost } = run
  return toWire(runWire, run, {
    held_back: heldBack === null ? null : toWire(heldBackWire, heldBack),
    waiting: waiting === null ? null : { code: waiting.code, ...explainWaiting(waiting) },
    cost: cost === null ? null : toWire(costWire, cost),
  })
}

export function runDetailToWire({ run, batches, around }: RunStory): z.infer<typeof runDetailWire> {
  return {
    ...runToWire(run),
    attempt_history: run.attempts.map((past) => toWire(attemptWire, past)),
    previous_run_id: around.previousId,
    next_run_id: around.nextId,
    usual_rows_written: around.usualRowsWritten,
    expected_rows_read: around.expectedRowsRead,
    batch_history: batches.map(batchToWire),
  }
}

export function batchToWire(batch: BatchHistory) {
  return toWire(batchWire, batch)
}

export function partToWire(part: PartHistory) {
  return toWire(partWire, part)
}
