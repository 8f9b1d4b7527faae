import { type Claim, type Control, SESSION_PREFIX } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import type { OpenPart, PartClaim, PartPlan, PartRecord, PartStates } from '../model/part.js'
import { rowsWritten } from '../model/run.js'
import type { PartQueue, PartRequest } from '../ports/part-queue.js'
import type { MetaSession } from '../ports/run-queue.js'
import { redactText } from '../telemetry/redact.js'
import type { Database, Queryable } from './database.js'
import { MetaStore } from './meta-store.js'
import { PIPELINE_COLUMNS, type PipelineRow, toPipeline } from './rows.js'
import { BATCH_COLUMNS, COUNTS, countColumns } from './run-counts.js'
import { HELD } from './status-lists.js'

/** A part that killed its runner this often is not tried again. */
const MAX_DEATHS = 3
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
            - (SELECT count(*) FROM etl.etl_run_parts WHERE status = 'RUNNING' AND lease_until > clock_timestamp()) AS free`,
    )
    return Math.max(0, Number(row!.free))
  }

  async partsOf(runId: string): Promise<OpenPart[]> {
    return this.#database.query<OpenPart & { part: number }>(
      `SELECT lo, hi, status = 'DONE' AS "isDone" FROM etl.etl_run_parts WHERE run_id = $1 ORDER BY part`,
      [runId],
    )
  }

  async storeParts(claim: Claim, parts: readonly OpenPart[]): Promise<void> {
    await this.#database.transaction(async (session) => {
      await requireHeld(session, claim)
      // The number of claims is kept: a runner that holds a part of an earlier plan cannot commit it as a part of this one.
      await session.query(
        `INSERT INTO etl.etl_run_parts AS q (run_id, part, lo, hi, status)
         SELECT $1, p.part, p.lo, p.hi, CASE WHEN p.done THEN 'DONE' ELSE 'PENDING' END
           FROM jsonb_to_recordset($2) AS p(part integer, lo text[], hi text[], done boolean)
         ON CONFLICT (run_id, part) DO UPDATE
            SET lo = excluded.lo, hi = excluded.hi, status = excluded.status, owner = NULL, lease_until = NULL,
                rows = 0, counts = NULL, error = NULL, started_at = NULL, finished_at = NULL`,
        [
          claim.runId,
          JSON.stringify(
            parts.map(({ lo, hi, isDone }, index) => ({ part: index + 1, lo, hi, done: isDone })),
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
        [claim.runId, JSON.stringify(plan), claim.fence],
      )
      await session.query("SELECT pg_notify('vitrina_run_requested', $1)", [claim.pipeline.id])
    })
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

  async claimPart({ runnerId, leaseSeconds, runId, free }: PartRequest): Promise<PartClaim | null> {
    if (!(await this.#hasOpenParts(runId))) return null
    return this.#database.transaction(async (session) => {
      // One claim at a time: two of them would both find one place free.
      await session.query("SELECT pg_advisory_xact_lock(hashtext('vitrina.parts'))")
      await failDeadly(session)
      const [row] = await session.query<ClaimedRow>(CLAIM, [
        ...[runnerId, leaseSeconds, runId],
        free === null ? null : JSON.stringify(free),
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
    const [row] = await this.#database.query<{ pause: boolean; cancel: boolean; batch_size: number | null }>(
      `UPDATE etl.etl_run_parts q SET lease_until = clock_timestamp() + make_interval(secs => $4)
         FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
        WHERE q.run_id = $1 AND q.part = $2 AND q.attempts = $3 AND q.status = 'RUNNING'
          AND r.id = q.run_id AND r.status = 'RUNNING' AND p.fence = $5 AND p.status IN ${HELD}
       RETURNING p.status = 'PAUSE_REQUESTED' AS pause, r.cancel_requested AS cancel, p.batch_size`,
      [part.runId, part.part, part.partAttempt, leaseSeconds, part.fence],
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
    await this.#database.query(
      `UPDATE etl.etl_run_parts SET status = 'FAILED', lease_until = NULL, error = $4
        WHERE run_id = $1 AND part = $2 AND attempts = $3 AND status = 'RUNNING'`,
      [part.runId, part.part, part.partAttempt, JSON.stringify({ code, message: redactText(message), hint })],
    )
  }

  async releasePart(part: PartClaim): Promise<void> {
    await this.#database.query(
      `UPDATE etl.etl_run_parts SET status = 'PENDING', lease_until = NULL
        WHERE run_id = $1 AND part = $2 AND attempts = $3 AND status = 'RUNNING'`,
      [part.runId, part.part, part.partAttempt],
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

// Parts of a run whose holder is silent, or that is about to pause or end, are not claimed.
const CLAIM = `
  WITH candidate AS (
    SELECT q.run_id, q.part, q.status = 'RUNNING' AS died FROM etl.etl_run_parts q
      JOIN etl.etl_runs r ON r.id = q.run_id
      JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND p.current_run_id = r.id
     WHERE (q.status = 'PENDING' OR (q.status = 'RUNNING' AND q.lease_until < clock_timestamp()))
       AND ($3::uuid IS NULL OR q.run_id = $3)
       AND etl.runner_takes($4::jsonb, p.tags)
       AND r.status = 'RUNNING' AND NOT r.cancel_requested
       AND p.status = 'RUNNING' AND p.enabled AND p.lease_until >= clock_timestamp()
       AND (r.parts_plan ->> 'fence')::bigint = p.fence
       AND (SELECT count(*) FROM etl.etl_run_parts o
             WHERE o.run_id = q.run_id AND o.status = 'RUNNING' AND o.lease_until >= clock_timestamp())
           < (r.parts_plan ->> 'width')::integer
     ORDER BY p.requested_at, q.part FOR UPDATE OF q SKIP LOCKED LIMIT 1)
  UPDATE etl.etl_run_parts q
     SET status = 'RUNNING', owner = $1, fence = p.fence, lease_until = clock_timestamp() + make_interval(secs => $2),
         attempts = q.attempts + 1, deaths = q.deaths + c.died::integer, error = NULL, started_at = clock_timestamp()
    FROM candidate c, etl.etl_runs r, etl.etl_pipelines p
   WHERE q.run_id = c.run_id AND q.part = c.part AND r.id = q.run_id AND p.id = r.pipeline_id
  RETURNING ${PIPELINE_COLUMNS}, r.id AS run_id, p.fence, r.attempt, r.trigger, r.traceparent, q.part, q.lo, q.hi, q.attempts,
            r.parts_plan, r.rows_quarantined`

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
    control: { pause: false, cancel: false, batchSize: row.batch_size },
    part: row.part,
    range: { lo: row.lo, hi: row.hi },
    partAttempt: row.attempts,
    plan: row.parts_plan,
    refusedSoFar: row.rows_quarantined,
  }
}

async function failDeadly(session: Queryable): Promise<void> {
  await session.query(
    `UPDATE etl.etl_run_parts SET status = 'FAILED', lease_until = NULL, error = jsonb_build_object('code', 'RUNNER_DIED_AGAIN',
            'message', 'Runners died ' || deaths + 1 || ' times in a row in part ' || part || '.',
            'hint', 'Check the log and the memory of the runner; more parallelism makes smaller parts. Then start the run again manually.')
      WHERE status = 'RUNNING' AND lease_until < clock_timestamp() AND deaths + 1 >= ${MAX_DEATHS}`,
  )
}

/**
 * The lock on the run makes a takeover and a forced cancel wait for the commit of the part, or the part see them. It is
 * taken first: a runner that waits for it, because another one froze with it, can still renew the lease of its part.
 */
async function recordDone(session: Queryable, part: PartClaim, record: PartRecord): Promise<void> {
  const { rows, durationMs, phases } = record
  const counts = countColumns(rows)
  const held = await session.query(
    `UPDATE etl.etl_runs r SET deaths = 0, batches = r.batches + 1, parts_done = r.parts_done + 1, rows_written = r.rows_written + $3,
            ${COUNTS.map((column, n) => `${column} = r.${column} + $${n + 4}`).join(', ')}
       FROM etl.etl_pipelines p
      WHERE r.id = $1 AND r.status = 'RUNNING' AND p.id = r.pipeline_id AND p.fence = $2 AND p.status IN ${HELD} RETURNING r.id`,
    [part.runId, part.fence, rowsWritten(rows), ...COUNTS.map((column) => counts[column])],
  )
  if (held.length === 0) throw partLost(part)
  const own = await session.query(
    `UPDATE etl.etl_run_parts SET status = 'DONE', lease_until = NULL, rows = $4, counts = $5, finished_at = clock_timestamp()
      WHERE run_id = $1 AND part = $2 AND attempts = $3 AND status = 'RUNNING' RETURNING part`,
    [part.runId, part.part, part.partAttempt, rows.read, JSON.stringify(rows)],
  )
  if (own.length === 0) throw partLost(part)
  const batch: Record<(typeof BATCH_COLUMNS)[number], unknown> = {
    batch: part.plan.batchBefore + part.part,
    attempt: part.attempt,
    step: part.plan.step,
    first_key: part.range.lo?.join(', ') ?? null,
    last_key: part.range.hi?.join(', ') ?? null,
    duration_ms: durationMs,
    ...counts,
    read_ms: phases.readMs,
    transform_ms: phases.transformMs,
    write_ms: phases.writeMs,
    checkpoint_ms: phases.checkpointMs,
  }
  await session.query(
    `INSERT INTO etl.etl_run_batches (run_id, ${BATCH_COLUMNS.join(', ')}) VALUES ($1, ${BATCH_COLUMNS.map((_, n) => `$${n + 2}`).join(', ')})
     ON CONFLICT (run_id, batch) DO UPDATE SET ${BATCH_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}, finished_at = clock_timestamp()`,
    [part.runId, ...BATCH_COLUMNS.map((column) => batch[column])],
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
