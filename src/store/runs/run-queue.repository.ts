import { type CheckResult, USUAL_RUNS } from '../../model/check.js'
import {
  type BatchRecord,
  type Capacity,
  type Claim,
  type Control,
  type EndNotes,
  type Release,
  type RunEnd,
  type RunnerInfo,
  type RunPlan,
  type RunTotals,
  type ScheduledPipeline,
  SESSION_PREFIX,
  type StalledRun,
} from '../../model/claim.js'
import { VitrinaError } from '../../model/errors.js'
import {
  type AttemptEnd,
  type HeldRow,
  NO_ROWS,
  type RefusedRow,
  type RepairKey,
  type RunCost,
  rowsWritten,
} from '../../model/run.js'
import type { CheckedOptions, MetaSession, RecordOptions, RunQueue } from '../../ports/run-queue.js'
import { kept } from '../../postgres/kept-statements.js'
import { redactText } from '../../telemetry/redact.js'
import { ALIVE } from '../alive.js'
import type { Database, Queryable } from '../database.js'
import { MetaStore } from '../meta-store.js'
import { type PipelineRow, toPipeline } from '../rows.js'
import { HELD } from '../status-lists.js'
import { BATCH_COLUMNS, COUNTS, countColumns } from './run-counts.js'

/** A cost that is not known leaves the sum as it is. */
const ADDED_COST = `cost_blocks_read = coalesce(cost_blocks_read + $3, $3, cost_blocks_read),
  cost_wal_bytes = coalesce(cost_wal_bytes + $4, $4, cost_wal_bytes)`

function costValues(cost: RunCost | null): (number | null)[] {
  return [cost?.blocksRead ?? null, cost?.walBytes ?? null]
}

interface ControlRow {
  status: string
  /** Text: a session of a transfer returns every value as the database writes it. */
  cancel: string
  batch_size: number | string | null
}

/** What etl.claim_run returns. */
interface ClaimedRun {
  readonly pipeline: PipelineRow & { readonly current_run_id: string; readonly fence: number }
  readonly previousStatus: string
  readonly previousOwner: string | null
  readonly waitedMs: number
  readonly attempt: number
  readonly deaths: number
  readonly cancelRequested: boolean
  readonly trigger: string
  readonly traceparent: string | null
  readonly previousEnd: AttemptEnd | null
  /** The group of the pipeline, in order; of itself only the id. Absent: it runs by itself. */
  readonly members?: readonly (ClaimedRun | { readonly pipeline: { readonly id: string } })[]
  /** Queued pipelines with the same tags and connections. */
  readonly lane: { readonly tags: readonly string[]; readonly source: string; readonly target: string }
}

/** Every name of the database that a connection leads to; null is the main database. */
export type NamesOfConnection = (connection: string | null) => readonly (string | null)[]

const EVERYTHING: Capacity = { free: null, limits: {} }

/** The meta store for the runner: claim, lease, fence. Time always comes from the clock of the database. */
export class RunQueueRepository implements RunQueue {
  readonly #database: MetaStore
  /** The lane of the last claim: the next one begins after it. */
  #served: ClaimedRun['lane'] | null = null

  /** The tables of each pipeline as stored last, with the version of its configuration. */
  readonly #reads = new Map<string, string>()
  readonly #namesOf: NamesOfConnection

  constructor(database: Database, namesOf: NamesOfConnection = (connection) => [connection]) {
    this.#database = new MetaStore(database)
    this.#namesOf = namesOf
  }

  async claim(runnerId: string, leaseSeconds: number, capacity = EVERYTHING): Promise<Claim | null> {
    const values = [
      ...[runnerId, leaseSeconds, capacity.free === null ? null : JSON.stringify(capacity.free)],
      JSON.stringify(capacity.limits),
    ]
    const claim = await this.#claim(values)
    if (claim !== null || !(await this.#endFrozenHolders())) return claim
    return this.#claim(values)
  }

  /**
   * A holder that froze between renewing its lease and COMMIT has the row of its pipeline locked, and SKIP LOCKED
   * would skip it until the server ends the idle transaction. Its lease has expired: its session may be terminated.
   */
  async #endFrozenHolders(): Promise<boolean> {
    const ended = await this.#database.query(END_FROZEN)
    return ended.length > 0
  }

  /** One statement: a claim is one round trip, and is committed at once. */
  async #claim(values: readonly unknown[]): Promise<Claim | null> {
    const [row] = await this.#database.query<{ claimed: ClaimedRun | null }>(CLAIM, [
      ...values,
      this.#served === null ? null : JSON.stringify(this.#served),
    ])
    const claimed = row!.claimed
    if (claimed === null) return null
    this.#served = claimed.lane
    return toClaim(claimed)
  }

  async renew(claim: Claim, leaseSeconds: number): Promise<Control> {
    const rows = await this.#database.query<ControlRow>(`${RENEW}`, [
      claim.pipeline.id,
      claim.fence,
      leaseSeconds,
      claim.runId,
    ])
    return control(rows[0], claim)
  }

  async planned(claim: Claim, plan: RunPlan): Promise<void> {
    await this.#note(claim, 'strategy = $3, way = $4, guarantee = $5', [
      plan.strategy,
      plan.way,
      plan.guarantee,
    ])
  }

  async reads(
    { pipeline }: Claim,
    tables: readonly { readonly schema: string; readonly table: string }[],
  ): Promise<void> {
    const found = JSON.stringify([pipeline.configVersion, tables])
    if (this.#reads.get(pipeline.id) === found) return
    await this.#database.query('SELECT etl.note_reads($1, $2, $3, $4, false)', [
      pipeline.id,
      this.#namesOf(pipeline.sourceConnection),
      tables.map(({ schema }) => schema),
      tables.map(({ table }) => table),
    ])
    this.#reads.set(pipeline.id, found)
  }

  async changed({ pipeline }: Claim): Promise<void> {
    await this.#database.query('SELECT etl.mark_followers($1, now())', [pipeline.id])
  }

  async requestDue(): Promise<string[]> {
    const rows = await this.#database.query<{ id: string }>(REQUEST_DUE)
    return rows.map(({ id }) => id)
  }

  /** Writes to the history of a run that this runner still holds. */
  async #note(claim: Claim, assignments: string, values: readonly unknown[]): Promise<void> {
    const noted = await this.#database.query(
      `UPDATE etl.etl_runs r SET ${assignments} FROM etl.etl_pipelines p
        WHERE r.id = $1 AND p.id = r.pipeline_id AND p.fence = $2 AND p.status IN ${HELD} RETURNING r.id`,
      [claim.runId, claim.fence, ...values],
    )
    if (noted.length === 0) throw leaseLost(claim)
  }

  async record(
    claim: Claim,
    batch: BatchRecord,
    { progress, leaseSeconds, session }: RecordOptions,
  ): Promise<Control> {
    const { copiedCheckpoint, phases } = batch
    const record = {
      batch: {
        batch: batch.batch,
        attempt: claim.attempt,
        step: batch.step,
        first_key: batch.firstKey,
        last_key: batch.lastKey,
        duration_ms: batch.durationMs,
        ...countColumns(batch.rows),
        read_ms: phases.readMs,
        transform_ms: phases.transformMs,
        write_ms: phases.writeMs,
        checkpoint_ms: phases.checkpointMs,
      },
      totals: {
        batches: progress.batches,
        rows_written: rowsWritten(progress.rows),
        ...countColumns(progress.rows),
      },
      checkpoint: copiedCheckpoint,
    }
    const values = [claim.pipeline.id, claim.fence, leaseSeconds, claim.runId, JSON.stringify(record)]
    const rows =
      session === null
        ? await this.#database.query<ControlRow>(RECORD, values)
        : ((await session.query(RECORD, values)).rows as ControlRow[])
    return control(rows[0], claim)
  }

  async quarantine(claim: Claim, rows: readonly RefusedRow[], session: MetaSession | null): Promise<void> {
    for (const row of rows) {
      // A batch that is repeated after a crash, and every later run, rejects the same rows again: a key is stored
      // once.
      const text = `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate, check_name)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (pipeline_id, row_key) WHERE status = 'HELD'
        DO UPDATE SET run_id = excluded.run_id, columns = excluded.columns, row_text = excluded.row_text,
                      reason = excluded.reason, sqlstate = excluded.sqlstate, refused_at = excluded.refused_at,
                      check_name = excluded.check_name`
      const values = [
        claim.pipeline.id,
        claim.runId,
        row.key,
        row.columns,
        row.texts,
        row.reason,
        row.sqlstate,
        row.check ?? null,
      ]
      await (session === null ? this.#database.query(text, values) : session.query(text, values))
    }
  }

  async checked(
    claim: Claim,
    results: readonly CheckResult[],
    { batch, isPart = false, session }: CheckedOptions,
  ): Promise<void> {
    const { pipeline, fence, runId } = claim
    const text = 'SELECT etl.record_checks($1, $2, $3, $4, $5, $6)::text AS recorded'
    const shown = results.map((result) => ({ ...result, message: redactText(result.message) }))
    const values = [
      pipeline.id,
      fence,
      runId,
      batch === null ? null : String(batch),
      isPart,
      JSON.stringify(shown),
    ]
    const rows =
      session === null
        ? await this.#database.query<{ recorded: string }>(text, values)
        : ((await session.query(text, values)).rows as { recorded: string }[])
    if (rows[0]?.recorded !== 'true') throw leaseLost(claim)
  }

  async usualRows(claim: Claim, check: string): Promise<number[]> {
    const rows = await this.#database.query<{ observed: number }>(
      `SELECT observed FROM etl.etl_check_results
        WHERE pipeline_id = $1 AND check_name = $2 AND run_id IS DISTINCT FROM $3 AND observed IS NOT NULL
          AND check_type = 'row_count' AND status IN ('passed', 'warned') ORDER BY id DESC LIMIT ${USUAL_RUNS}`,
      [claim.pipeline.id, check, claim.runId],
    )
    return rows.map(({ observed }) => Number(observed))
  }

  async requestedReset(claim: Claim): Promise<{ key: string | null; id: string | null } | null> {
    const [row] = await this.#database.query<{ key: string | null; id: string | null }>(REQUESTED_RESET, [
      claim.pipeline.id,
    ])
    return row ?? null
  }

  async resetDone(claim: Claim): Promise<void> {
    await this.#database.query('UPDATE etl.etl_state SET reset = false WHERE pipeline_id = $1', [
      claim.pipeline.id,
    ])
  }

  async toReplay(claim: Claim): Promise<HeldRow[]> {
    return this.#database.query<HeldRow & { id: number }>(TO_REPLAY, [claim.pipeline.id])
  }

  async replayed(_claim: Claim, rows: readonly HeldRow[], session: MetaSession | null): Promise<void> {
    const text =
      "UPDATE etl.etl_quarantine SET status = 'REPLAYED', settled_at = clock_timestamp() WHERE id = ANY($1)"
    const values = [rows.map((row) => row.id)]
    await (session === null ? this.#database.query(text, values) : session.query(text, values))
  }

  async toRepair(claim: Claim): Promise<RepairKey[]> {
    return this.#database.query<RepairKey & { id: number }>(TO_REPAIR, [claim.pipeline.id])
  }

  async repaired(_claim: Claim, rows: readonly RepairKey[], session: MetaSession | null): Promise<void> {
    const text = 'UPDATE etl.etl_repairs SET repaired_at = clock_timestamp() WHERE id = ANY($1)'
    const values = [rows.map((row) => row.id)]
    await (session === null ? this.#database.query(text, values) : session.query(text, values))
  }

  async hasRefusedRows(claim: Claim): Promise<boolean> {
    const rows = await this.#database.query(
      "SELECT FROM etl.etl_quarantine WHERE pipeline_id = $1 AND status <> 'REPLAYED' LIMIT 1",
      [claim.pipeline.id],
    )
    return rows.length > 0
  }

  async spent(claim: Claim, cost: RunCost): Promise<void> {
    await this.#note(claim, ADDED_COST, costValues(cost))
  }

  async retrying(
    claim: Claim,
    attempt: number,
    error: { message: string; code: string; hint: string },
  ): Promise<void> {
    await this.#note(
      claim,
      `attempts = etl.with_attempt(r, 'failed', $4, $5, $6), attempt = $3, error = $4, error_code = $5, error_hint = $6`,
      [attempt, redactText(error.message), error.code, error.hint],
    )
  }

  async finish(claim: Claim, end: RunEnd, notes?: EndNotes): Promise<RunTotals | null> {
    const [row] = await this.#database.query<{ finished: FinishedRun }>(FINISH, [
      claim.pipeline.id,
      claim.fence,
      claim.runId,
      JSON.stringify({ ...toOutcome(end), ...notes }),
    ])
    const { finished } = row!
    if (finished.end === 'lost') throw leaseLost(claim)
    return finished.end === 'ended' ? toTotals(finished.run) : null
  }

  async finishGroup(
    group: readonly { readonly claim: Claim; readonly end: RunEnd }[],
  ): Promise<RunTotals[] | null> {
    const runs = group.map(({ claim, end }) => ({
      ...{ pipeline: claim.pipeline.id, fence: claim.fence, run: claim.runId, outcome: toOutcome(end) },
    }))
    const [row] = await this.#database.query<{ finished: FinishedGroup }>(
      'SELECT etl.finish_group($1) AS finished',
      [JSON.stringify(runs)],
    )
    const { finished } = row!
    if (finished.end === 'lost') throw leaseLost(group[0]!.claim)
    return finished.end === 'ended' ? finished.runs.map(toTotals) : null
  }

  release(claims: readonly Claim[], release: Release): Promise<boolean[]> {
    // All at once: a group that is taken over includes what its holder held.
    return this.#database.transaction(async (session) => {
      const released: boolean[] = []
      for (const claim of claims) released.push(await releaseOne(session, claim, release))
      return released
    })
  }

  async dueSchedules(): Promise<{ now: string; pipelines: ScheduledPipeline[] }> {
    const rows = await this.#database.query<{
      now: string
      id: string | null
      name: string
      schedule: string | null
      timezone: string
      live: boolean
      next_run_at: string | null
    }>(DUE_SCHEDULES)
    const pipelines = rows.flatMap((row) =>
      row.id === null
        ? []
        : [
            {
              id: row.id,
              name: row.name,
              schedule: row.live ? null : row.schedule,
              timezone: row.timezone,
              nextRunAt: row.next_run_at,
            },
          ],
    )
    return { now: rows[0]!.now, pipelines }
  }

  async reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      await session.query("SELECT set_config('vitrina.trigger', 'schedule', true)")
      // The old time is the ticket: of two runners that see the same tick, one finds it changed. SKIP LOCKED: a psql
      // session that holds the row must not block the runner for all other pipelines; the next tick retries.
      const rows = await session.query(
        `UPDATE etl.etl_pipelines
            SET next_run_at = $2, status = CASE WHEN $3 THEN 'RUN_REQUESTED' ELSE status END
          WHERE id = (SELECT id FROM etl.etl_pipelines
                       WHERE id = $1 AND next_run_at IS NOT DISTINCT FROM $4::timestamptz AND (NOT $3 OR status = 'IDLE')
                         FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id`,
        [pipeline.id, next, start, pipeline.nextRunAt],
      )
      return rows.length === 1
    })
  }

  async requestByFreshness(): Promise<string[]> {
    const rows = await this.#database.query<{ name: string }>(DUE_BY_FRESHNESS)
    return rows.map(({ name }) => name)
  }

  async heartbeat(runner: RunnerInfo): Promise<void> {
    await this.#database.query(
      `INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, tags, connection_limits) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = clock_timestamp(), stopped_at = NULL`,
      [
        ...[runner.id, runner.host, runner.pid, runner.version, runner.concurrency],
        ...[
          runner.tags === null ? null : JSON.stringify(runner.tags),
          JSON.stringify(runner.connectionLimits),
        ],
      ],
    )
    await this.#database.query(
      "DELETE FROM etl.etl_runners WHERE heartbeat_at < clock_timestamp() - interval '1 day'",
    )
  }

  async markStalled(): Promise<StalledRun[]> {
    // Requests of the last seconds are left out: a runner that takes them may be starting.
    return this.#database.query<StalledRun & { runId: string }>(
      `WITH alive AS (
         SELECT tags FROM etl.etl_runners WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - ${ALIVE}),
       untaken AS (
         SELECT queued.tags FROM (SELECT DISTINCT tags FROM etl.etl_pipelines WHERE status = 'RUN_REQUESTED' AND enabled) queued
          WHERE NOT EXISTS (SELECT FROM alive WHERE etl.runner_takes(alive.tags, queued.tags)))
       UPDATE etl.etl_runs r SET stalled_since = clock_timestamp() FROM etl.etl_pipelines p JOIN untaken USING (tags)
        WHERE r.id = p.current_run_id AND p.status = 'RUN_REQUESTED' AND p.enabled
          AND p.requested_at < clock_timestamp() - ${ALIVE} AND r.stalled_since IS NULL
       RETURNING r.id AS "runId", p.id AS "pipelineId", p.name AS "pipelineName", p.tags`,
    )
  }

  async gone(runnerId: string): Promise<void> {
    await this.#database.query('UPDATE etl.etl_runners SET stopped_at = clock_timestamp() WHERE id = $1', [
      runnerId,
    ])
  }
}

async function releaseOne(session: Queryable, claim: Claim, release: Release): Promise<boolean> {
  const lost = release.end === 'connection_lost' ? release : null
  // Recorded now, not at the next claim: until a runner claims it, users see why there is no progress.
  const released = await session.query(
    `WITH released AS (
       UPDATE etl.etl_pipelines SET lease_owner = NULL, lease_until = clock_timestamp()
        WHERE id = $1 AND fence = $2 AND status IN ${HELD} RETURNING id),
     noted AS (
       UPDATE etl.etl_runs r SET attempts = etl.with_attempt(r, $4, $5, $6, $7)
         FROM released WHERE r.id = $3)
     SELECT pg_notify('vitrina_run_requested', id::text) FROM released`,
    [
      ...[claim.pipeline.id, claim.fence, claim.runId, release.end],
      ...[lost === null ? null : redactText(lost.error), lost?.code ?? null, lost?.hint ?? null],
    ],
  )
  return released.length === 1
}

/** The claims of a group name each other. */
function toClaim(claimed: ClaimedRun): Claim {
  const { members = [] } = claimed
  if (members.length === 0) return { ...claimOf(claimed), group: null }
  const group: Claim[] = []
  for (const member of members) {
    const found = 'lane' in member ? member : claimed
    group.push({ ...claimOf(found), group })
  }
  return group.find(({ pipeline }) => pipeline.id === claimed.pipeline.id)!
}

function toOutcome(end: RunEnd): RunEnd {
  return end.status === 'FAILED' ? { ...end, error: redactText(end.error) } : end
}

function claimOf(claimed: ClaimedRun): Omit<Claim, 'group'> {
  const {
    pipeline,
    previousStatus,
    previousOwner,
    cancelRequested,
    previousEnd,
    lane: _lane,
    members: _members,
    ...run
  } = claimed
  const recovered = previousStatus !== 'RUN_REQUESTED'
  return {
    ...run,
    pipeline: toPipeline(pipeline),
    runId: pipeline.current_run_id,
    fence: pipeline.fence,
    recovered,
    previousOwner: recovered ? previousOwner : null,
    previousEnd: recovered ? previousEnd : null,
    // A pipeline that was disabled meanwhile is claimed only to end its run, because no other process would.
    control: {
      pause: pipeline.status === 'PAUSE_REQUESTED',
      cancel: cancelRequested || !pipeline.enabled,
      batchSize: pipeline.batch_size,
    },
  }
}

/** A pipeline that is to run all the time (`isLive`). */
const LIVE = "(p.freshness = 'live' AND p.mode = 'incremental' AND p.capture = 'wal')"

/** What etl.finish_run returns. */
type FinishedRun =
  | { readonly end: 'lost' | 'repairs' }
  | { readonly end: 'ended'; readonly run: TotalsRow | null }

/** What etl.finish_group returns. */
type FinishedGroup =
  | { readonly end: 'lost' | 'repairs' }
  | { readonly end: 'ended'; readonly runs: readonly (TotalsRow | null)[] }

interface TotalsRow {
  batches: number
  rows_read: number
  rows_inserted: number
  rows_updated: number
  rows_unchanged: number
  rows_deleted: number
  rows_quarantined: number
  rows_duplicate: number
  duration_ms: number
}

/** The result is unknown if the run was deleted from the history while it was in progress. */
function toTotals(row: TotalsRow | null): RunTotals {
  if (row === null) return { rows: NO_ROWS, batches: 0, durationMs: 0 }
  const rows = {
    read: row.rows_read,
    inserted: row.rows_inserted,
    updated: row.rows_updated,
    unchanged: row.rows_unchanged,
    deleted: row.rows_deleted,
    quarantined: row.rows_quarantined,
    duplicates: row.rows_duplicate,
  }
  return { rows, batches: row.batches, durationMs: row.duration_ms }
}

const END_FROZEN = kept(`SELECT pg_terminate_backend(a.pid, 1000) FROM etl.etl_pipelines p
         JOIN pg_stat_activity a ON a.application_name = '${SESSION_PREFIX}' || p.id || '/' || p.fence AND a.datname = current_database()
        WHERE p.status IN ${HELD} AND p.lease_until < clock_timestamp() AND pg_has_role(a.usesysid, 'USAGE')`)

const REQUEST_DUE = kept('SELECT id FROM etl.request_due_runs() AS id')

const REQUESTED_RESET = kept(
  'SELECT last_processed_key AS key, last_processed_id AS id FROM etl.etl_state WHERE pipeline_id = $1 AND reset',
)

const TO_REPLAY = kept(`SELECT id, row_key AS key, columns, row_text AS texts FROM etl.etl_quarantine
        WHERE pipeline_id = $1 AND status = 'REPLAY_REQUESTED' ORDER BY id LIMIT 1000`)

// Of any run: a paused or failed one may have left them.
const TO_REPAIR = kept(`SELECT q.id, q.key FROM etl.etl_repairs q JOIN etl.etl_runs r ON r.id = q.run_id
        WHERE r.pipeline_id = $1 AND q.repaired_at IS NULL ORDER BY q.id`)

// Each part follows a partial index: every tick asks, and most of ten thousand pipelines are not due.
const DUE_SCHEDULES =
  kept(`SELECT etl.rfc3339(clock_timestamp()) AS now, p.id, p.name, p.schedule_interval AS schedule, p.schedule_timezone AS timezone,
              etl.rfc3339(p.next_run_at) AS next_run_at, ${LIVE} AS live
         FROM (SELECT 1) one LEFT JOIN (
           SELECT * FROM etl.etl_pipelines p WHERE p.freshness = 'live' AND ${LIVE} AND p.enabled AND p.status = 'IDLE'
           UNION ALL
           SELECT * FROM etl.etl_pipelines p WHERE p.schedule_interval IS NOT NULL AND p.next_run_at IS NULL AND p.enabled
              AND ${LIVE} IS NOT TRUE
           UNION ALL
           SELECT * FROM etl.etl_pipelines p WHERE p.schedule_interval IS NOT NULL AND p.next_run_at <= statement_timestamp()
              AND p.enabled AND p.status = 'IDLE' AND ${LIVE} IS NOT TRUE) p ON true`)

// One statement, and SKIP LOCKED: of several runners each pipeline is requested by one.
const DUE_BY_FRESHNESS = kept(`WITH due AS (
         SELECT p.id FROM etl.etl_freshness f JOIN etl.etl_pipelines p ON p.id = f.pipeline_id
          WHERE f.due_at <= clock_timestamp() AND p.enabled AND p.status = 'IDLE' AND ${LIVE} IS NOT TRUE
            FOR NO KEY UPDATE OF p SKIP LOCKED)
       UPDATE etl.etl_pipelines p SET status = 'RUN_REQUESTED'
         FROM due, set_config('vitrina.trigger', 'freshness', true) WHERE p.id = due.id RETURNING p.name`)

const CLAIM = kept('SELECT etl.claim_run($1, $2, $3, $4, $5) AS claimed')
const FINISH = kept('SELECT etl.finish_run($1, $2, $3, $4) AS finished')

const RENEW = kept(`
  UPDATE etl.etl_pipelines p SET lease_until = clock_timestamp() + make_interval(secs => $3)
   WHERE id = $1 AND fence = $2 AND lease_owner IS NOT NULL AND status IN ${HELD}
  RETURNING p.status, p.batch_size, (SELECT r.cancel_requested::text FROM etl.etl_runs r WHERE r.id = $4) AS cancel`)

const COUNT_TYPES = COUNTS.map((column) => `${column} bigint`).join(', ')
// One statement, one round trip: it is part of every batch. The rest depends on `held`, because the writing parts of
// a WITH are executed even if the last part finds nothing: a stale holder would have written its batch before it was
// rejected. Only a new batch resets the count of deaths: with the target in another database this precedes its
// COMMIT, and a runner that dies in between records the same batch again and again.
const RECORD = kept(`
  WITH held AS (
    UPDATE etl.etl_pipelines SET lease_until = clock_timestamp() + make_interval(secs => $3)
     WHERE id = $1 AND fence = $2 AND lease_owner IS NOT NULL AND status IN ${HELD} RETURNING status, batch_size),
  run AS (
    UPDATE etl.etl_runs r SET deaths = CASE WHEN t.batches > r.batches THEN 0 ELSE r.deaths END, batches = t.batches,
           rows_written = t.rows_written, ${COUNTS.map((column) => `${column} = t.${column}`).join(', ')}
      FROM held, json_to_record($5::json -> 'totals') AS t(batches integer, rows_written bigint, ${COUNT_TYPES})
     WHERE r.id = $4 RETURNING r.cancel_requested),
  state AS (
    UPDATE etl.etl_state s SET last_processed_key = $5::json -> 'checkpoint' ->> 'key',
           last_processed_id = $5::json -> 'checkpoint' ->> 'id', updated_at = clock_timestamp()
      FROM held WHERE s.pipeline_id = $1 AND json_typeof($5::json -> 'checkpoint') = 'object'),
  batch AS (
    INSERT INTO etl.etl_run_batches (run_id, ${BATCH_COLUMNS.join(', ')})
    SELECT $4, ${BATCH_COLUMNS.map((column) => `b.${column}`).join(', ')}
      FROM held, json_to_record($5::json -> 'batch') AS b(batch integer, attempt integer, step text, first_key text, last_key text,
           duration_ms float8, read_ms float8, transform_ms float8, write_ms float8, checkpoint_ms float8, ${COUNT_TYPES})
    ON CONFLICT (run_id, batch) DO UPDATE
       SET ${BATCH_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}, finished_at = clock_timestamp())
  SELECT held.status, held.batch_size, run.cancel_requested::text AS cancel FROM held, run`)

function control(row: ControlRow | undefined, claim: Claim): Control {
  if (row === undefined) throw leaseLost(claim)
  return {
    pause: row.status === 'PAUSE_REQUESTED',
    cancel: row.cancel === 'true',
    batchSize: row.batch_size === null ? null : Number(row.batch_size),
  }
}

function leaseLost(claim: Claim): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    `Pipeline "${claim.pipeline.name}" is no longer held with fence ${claim.fence}.`,
    'No action needed: the current holder continues from the last checkpoint.',
  )
}
