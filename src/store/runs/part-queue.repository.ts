import { type Claim, type Control, SESSION_PREFIX } from '../../model/claim.js'
import { type NamedStatement, valuesFor } from '../../model/engine.js'
import { VitrinaError } from '../../model/errors.js'
import type { OpenPart, PartClaim, PartPlan, PartRecord, PartStates } from '../../model/part.js'
import { finalTarget } from '../../model/pipeline.js'
import { type RowCounts, rowsWritten } from '../../model/run.js'
import type { EngineParts, PartQueue, PartRequest } from '../../ports/part-queue.js'
import type { MetaSession } from '../../ports/run-queue.js'
import { redactText } from '../../telemetry/redact.js'
import type { Database, Queryable } from '../database.js'
import { MetaStore } from '../meta-store.js'
import { PIPELINE_COLUMNS, type PipelineRow, toPipeline } from '../rows.js'
import { HELD } from '../status-lists.js'
import { claimSql, PART_STATEMENTS, WITHIN_LIMITS } from './part-statements.js'
import { countColumns } from './run-counts.js'

/** Three missed heartbeats: such a runner takes no part. */
const SILENT = "interval '15 seconds'"

interface ClaimedRow extends PipelineRow {
  run_id: string
  fence: number
  attempt: number
  trigger: string
  traceparent: string | null
  part: number
  lo: string[] | null
  hi: string[] | null
  attempts: number
  parts_plan: PartPlan
  rows_quarantined: number
}

/**
 * The parts of runs. A part is PENDING until a runner claims it, RUNNING while that runner holds its lease, and DONE with
 * the commit of its rows. FAILED parts are tried again by the next attempt of the run. When a run ends, the database sets
 * what is not DONE to LEFT.
 */
export class PartQueueRepository implements PartQueue {
  readonly #database: MetaStore

  constructor(database: Database) {
    this.#database = new MetaStore(database)
  }

  async freeSlots(): Promise<number> {
    const [row] = await this.#database.query<{ free: number }>(
      `SELECT (SELECT coalesce(sum(concurrency), 0) FROM etl.etl_runners
                WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - ${SILENT})
            - (SELECT count(*) FROM etl.etl_pipelines WHERE status IN ${HELD} AND freshness IS DISTINCT FROM 'live')
            - (SELECT count(*) FROM etl.etl_run_parts
                WHERE status = 'RUNNING' AND lease_until > clock_timestamp() AND owner NOT LIKE 'spark:%') AS free`,
    )
    return Math.max(0, Number(row!.free))
  }

  async partsOf(runId: string): Promise<OpenPart[]> {
    return this.#database.query<OpenPart & { part: number }>(
      `SELECT lo, hi, status = 'DONE' AS "isDone", coalesce(marks, '{}') AS marks
         FROM etl.etl_run_parts WHERE run_id = $1 ORDER BY part`,
      [runId],
    )
  }

  async storeParts(claim: Claim, parts: readonly OpenPart[]): Promise<void> {
    await this.#database.transaction(async (session) => {
      await requireHeld(session, claim)
      // The number of claims is kept: a runner that holds a part of an earlier plan cannot commit it as a part of this one.
      await session.query(
        `INSERT INTO etl.etl_run_parts AS q (run_id, part, lo, hi, status, marks)
         SELECT $1, p.part, p.lo, p.hi, CASE WHEN p.done THEN 'DONE' ELSE 'PENDING' END, nullif(p.marks, '{}')
           FROM jsonb_to_recordset($2) AS p(part integer, lo text[], hi text[], done boolean, marks text[])
         ON CONFLICT (run_id, part) DO UPDATE
            SET lo = excluded.lo, hi = excluded.hi, status = excluded.status, marks = excluded.marks, owner = NULL, lease_until = NULL,
                rows = 0, counts = NULL, error = NULL, started_at = NULL, finished_at = NULL, by_runner = false`,
        [
          claim.runId,
          JSON.stringify(
            parts.map(({ lo, hi, isDone, marks }, index) => ({
              part: index + 1,
              lo,
              hi,
              done: isDone,
              marks,
            })),
          ),
        ],
      )
      await session.query('DELETE FROM etl.etl_run_parts WHERE run_id = $1 AND part > $2', [
        claim.runId,
        parts.length,
      ])
      await session.query('UPDATE etl.etl_runs SET parts_total = $2, parts_plan = NULL WHERE id = $1', [
        claim.runId,
        parts.length,
      ])
    })
  }

  async openParts(claim: Claim, plan: PartPlan): Promise<void> {
    await this.#database.transaction(async (session) => {
      await requireHeld(session, claim)
      await session.query(
        `UPDATE etl.etl_run_parts SET status = 'PENDING', lease_until = NULL
          WHERE run_id = $1 AND (status = 'FAILED' OR status = 'RUNNING' AND fence < $2)`,
        [claim.runId, claim.fence],
      )
      await session.query(
        `UPDATE etl.etl_runs SET parts_plan = $2::jsonb || jsonb_build_object('fence', $3::bigint),
                parts_done = (SELECT count(*) FROM etl.etl_run_parts WHERE run_id = $1 AND status = 'DONE') WHERE id = $1`,
        [claim.runId, JSON.stringify(withStatements(plan)), claim.fence],
      )
      await session.query("SELECT pg_notify('vitrina_run_requested', $1)", [claim.pipeline.id])
    })
  }

  async earlierClaims(claim: Claim): Promise<number> {
    const [row] = await this.#database.query<{ claimed: number }>(
      `SELECT count(*) AS claimed FROM etl.etl_run_parts
        WHERE run_id = $1 AND fence < $2 AND status = 'RUNNING' AND lease_until > clock_timestamp()`,
      [claim.runId, claim.fence],
    )
    return Number(row!.claimed)
  }

  async partStates(claim: Claim): Promise<PartStates> {
    const [row] = await this.#database.query<{ open: number; failed: PartStates['failed'] }>(
      `SELECT count(*) FILTER (WHERE status <> 'DONE') AS open,
              (SELECT error FROM etl.etl_run_parts WHERE run_id = $1 AND status = 'FAILED' ORDER BY part LIMIT 1) AS failed
         FROM etl.etl_run_parts WHERE run_id = $1`,
      [claim.runId],
    )
    return row!
  }

  async busyParts(claim: Claim): Promise<number> {
    const [row] = await this.#database.query<{ busy: number }>(
      `SELECT count(*) AS busy FROM etl.etl_run_parts
        WHERE run_id = $1 AND fence = $2 AND status = 'RUNNING' AND lease_until > clock_timestamp()`,
      [claim.runId, claim.fence],
    )
    return row!.busy
  }

  async claimPart({ runnerId, leaseSeconds, runId, free, limits }: PartRequest): Promise<PartClaim | null> {
    if (!(await this.#hasOpenParts(runId))) return null
    return this.#database.transaction(async (session) => {
      if (Object.keys(limits).length > 0) await execute(session, PART_STATEMENTS.lock_limits, {})
      await execute(session, PART_STATEMENTS.lock, {})
      await execute(session, PART_STATEMENTS.fail_deadly, {})
      const [row] = await session.query<ClaimedRow>(CLAIM, [
        runnerId,
        leaseSeconds,
        runId,
        free === null ? null : JSON.stringify(free),
        null,
        null,
        JSON.stringify(limits),
      ])
      return row === undefined ? null : toPartClaim(row)
    })
  }

  async #hasOpenParts(runId: string | null): Promise<boolean> {
    const rows = await this.#database.query(
      `SELECT FROM etl.etl_run_parts WHERE status IN ('PENDING', 'RUNNING') AND ($1::uuid IS NULL OR run_id = $1) LIMIT 1`,
      [runId],
    )
    return rows.length > 0
  }

  async renewPart(part: PartClaim, leaseSeconds: number): Promise<Control> {
    const [row] = await execute<{ pause: boolean; cancel: boolean; batch_size: number | null }>(
      this.#database,
      PART_STATEMENTS.renew,
      { ...namesOf(part), lease: leaseSeconds },
    )
    if (row === undefined) throw partLost(part)
    return { pause: row.pause, cancel: row.cancel, batchSize: row.batch_size }
  }

  async partDone(part: PartClaim, record: PartRecord, session: MetaSession | null): Promise<void> {
    if (session !== null)
      return recordDone(
        { query: async (text, values = []) => (await session.query(text, values)).rows as never },
        part,
        record,
      )
    await this.#database.transaction((own) => recordDone(own, part, record))
  }

  async partFailed(part: PartClaim, { code, message, hint }: VitrinaError): Promise<void> {
    await execute(this.#database, PART_STATEMENTS.fail, {
      ...namesOf(part),
      error: JSON.stringify({ code, message: redactText(message), hint: redactText(hint) }),
    })
  }

  async releasePart(part: PartClaim): Promise<void> {
    await execute(this.#database, PART_STATEMENTS.release, namesOf(part))
  }

  async engineParts(claim: Claim): Promise<EngineParts> {
    const rows = await this.#database.query<EnginePartRow>(
      `SELECT q.part, q.status, q.by_runner, q.error ->> 'message' AS error, q.counts, b.duration_ms, b.read_ms, b.transform_ms, b.write_ms, b.checkpoint_ms
         FROM etl.etl_run_parts q JOIN etl.etl_runs r ON r.id = q.run_id
         LEFT JOIN etl.etl_run_batches b ON b.run_id = q.run_id AND b.batch = (r.parts_plan ->> 'batchBefore')::integer + q.part
        WHERE q.run_id = $1 ORDER BY q.part`,
      [claim.runId],
    )
    const own = rows.filter((row) => !row.by_runner)
    return {
      open: own.filter(({ status }) => status !== 'DONE').length,
      done: own.filter(({ status, counts }) => status === 'DONE' && counts !== null).map(toDonePart),
      handedOver: rows
        .filter(({ by_runner, error, status }) => by_runner && error !== null && status === 'PENDING')
        .map(({ part, error }) => ({ part, reason: error! })),
    }
  }

  async freeEngineParts(claim: Claim): Promise<void> {
    await this.#database.query(
      `UPDATE etl.etl_run_parts SET status = 'PENDING', lease_until = NULL
        WHERE run_id = $1 AND fence = $2 AND status = 'RUNNING' AND NOT by_runner`,
      [claim.runId, claim.fence],
    )
  }

  async endFrozenParts(): Promise<void> {
    await this.#database.query(
      `SELECT pg_terminate_backend(a.pid, 1000) FROM etl.etl_run_parts q JOIN etl.etl_runs r ON r.id = q.run_id
         JOIN pg_stat_activity a ON a.datname = current_database()
          AND a.application_name = '${SESSION_PREFIX}' || r.pipeline_id || '/' || q.fence || '/' || q.part || '.' || q.attempts
        WHERE q.status = 'RUNNING' AND q.lease_until < clock_timestamp() AND pg_has_role(a.usesysid, 'USAGE')`,
    )
  }
}

const CLAIM = claimSql(
  `${PIPELINE_COLUMNS}, r.id AS run_id, p.fence, r.attempt, r.trigger, r.traceparent, q.part, q.lo, q.hi, q.attempts,
   r.parts_plan, r.rows_quarantined`,
  WITHIN_LIMITS,
)

/** An engine executes the same statements as this program. */
function withStatements(plan: PartPlan): object {
  return plan.job === null ? plan : { ...plan, job: { ...plan.job, parts: PART_STATEMENTS } }
}

/** The values by which statements about a claimed part find it. */
function namesOf({ runId, part, partAttempt, fence }: PartClaim): Record<string, unknown> {
  return { run: runId, part, claim: partAttempt, fence }
}

function execute<R extends Record<string, unknown>>(
  session: Queryable,
  statement: NamedStatement,
  named: Readonly<Record<string, unknown>>,
): Promise<R[]> {
  return session.query<R>(statement.text, valuesFor(statement, named))
}

interface EnginePartRow {
  part: number
  status: string
  by_runner: boolean
  error: string | null
  counts: RowCounts | null
  duration_ms: number | null
  read_ms: number | null
  transform_ms: number | null
  write_ms: number | null
  checkpoint_ms: number | null
}

function toDonePart(row: EnginePartRow): EngineParts['done'][number] {
  const [durationMs, now] = [row.duration_ms ?? 0, performance.now()]
  const phases = {
    readMs: row.read_ms,
    transformMs: row.transform_ms,
    writeMs: row.write_ms ?? 0,
    checkpointMs: row.checkpoint_ms ?? 0,
  }
  const spans = [{ name: 'write', from: now - durationMs, to: now }] as const
  return { part: row.part, record: { rows: row.counts!, marks: [], durationMs, phases, spans } }
}

function toPartClaim(row: ClaimedRow): PartClaim {
  return {
    pipeline: toPipeline(row),
    runId: row.run_id,
    fence: row.fence,
    attempt: row.attempt,
    recovered: false,
    deaths: 0,
    previousOwner: null,
    previousEnd: null,
    trigger: row.trigger,
    traceparent: row.traceparent,
    waitedMs: 0,
    group: null,
    control: { pause: false, cancel: false, batchSize: row.batch_size },
    part: row.part,
    range: { lo: row.lo, hi: row.hi },
    partAttempt: row.attempts,
    plan: row.parts_plan,
    refusedSoFar: row.rows_quarantined,
  }
}

async function recordDone(session: Queryable, part: PartClaim, record: PartRecord): Promise<void> {
  const { rows, durationMs, phases } = record
  const named = {
    ...namesOf(part),
    ...countColumns(rows),
    rows_written: rowsWritten(rows),
    counts: JSON.stringify(rows),
    batch: part.plan.batchBefore + part.part,
    attempt: part.attempt,
    step: part.plan.step,
    first_key: part.range.lo?.join(', ') ?? null,
    last_key: part.range.hi?.join(', ') ?? null,
    duration_ms: durationMs,
    read_ms: phases.readMs,
    transform_ms: phases.transformMs,
    write_ms: phases.writeMs,
    checkpoint_ms: phases.checkpointMs,
  }
  const [run] = await execute<{ rows_quarantined: number }>(session, PART_STATEMENTS.count_rows, named)
  if (run === undefined) throw partLost(part)
  // Parts that are executed at the same time do not see each other's rejected rows before this.
  if (rows.quarantined > 0) requireWithinLimit(part, Number(run.rows_quarantined))
  if ((await execute(session, PART_STATEMENTS.complete, named)).length === 0) throw partLost(part)
  if (record.marks.length > 0)
    await session.query('UPDATE etl.etl_run_parts SET marks = $3 WHERE run_id = $1 AND part = $2', [
      part.runId,
      part.part,
      record.marks,
    ])
  await execute(session, PART_STATEMENTS.record, named)
}

function requireWithinLimit({ pipeline }: PartClaim, refused: number): void {
  const { quarantineLimit: limit } = pipeline
  if (refused <= limit) return
  throw new VitrinaError(
    'ROWS_REFUSED',
    `${finalTarget(pipeline)} rejected ${refused} row${refused === 1 ? '' : 's'} in this run, in several parts, more than quarantine_limit allows (${limit}).`,
    'Compare the columns of the query with what the target accepts, or raise quarantine_limit.',
  )
}

/** Locks the run before its parts, as a part does that is committed. */
async function requireHeld(session: Queryable, claim: Claim): Promise<void> {
  const held = await session.query(
    `SELECT FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
      WHERE r.id = $3 AND p.id = $1 AND p.fence = $2 AND p.status IN ${HELD} FOR UPDATE OF r`,
    [claim.pipeline.id, claim.fence, claim.runId],
  )
  if (held.length === 0)
    throw new VitrinaError(
      'LEASE_LOST',
      `Pipeline "${claim.pipeline.name}" is no longer held with fence ${claim.fence}.`,
      'No action needed: the current holder continues from the last checkpoint.',
    )
}

function partLost({ part, pipeline }: PartClaim): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    `Part ${part} of a run of pipeline "${pipeline.name}" is no longer held by this runner.`,
    'No action needed: the current holder of the run continues with the parts that are not committed.',
  )
}
