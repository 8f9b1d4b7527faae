import { type CheckResult, USUAL_RUNS } from '../../model/check.js'
import type {
  BatchRecord,
  Capacity,
  Claim,
  Control,
  EndNotes,
  Release,
  RunEnd,
  RunPlan,
  RunTotals,
} from '../../model/claim.js'
import { VitrinaError } from '../../model/errors.js'
import { type HeldRow, type RefusedRow, type RepairKey, type RunCost, rowsWritten } from '../../model/run.js'
import type { CheckedOptions, MetaSession, RecordOptions, RunQueue } from '../../ports/run-queue.js'
import { redactText } from '../../telemetry/redact.js'
import type { Database, Queryable } from '../database.js'
import { MetaStore } from '../meta-store.js'
import { HELD } from '../status-lists.js'
import { type ClaimedRun, toClaim } from './claimed-run.js'
import { type FinishedGroup, type FinishedRun, toOutcome, toTotals } from './finished-run.js'
import { type NamesOfConnection, noteTables } from './note-tables.js'
import { countColumns } from './run-counts.js'
import {
  ADDED_COST,
  CLAIM,
  END_FROZEN,
  FINISH,
  RECORD,
  RENEW,
  REQUESTED_RESET,
  TO_REPAIR,
  TO_REPLAY,
} from './run-statements.js'

interface ControlRow {
  status: string
  /** Text: a session of a transfer returns every value as the database writes it. */
  cancel: string
  batch_size: number | string | null
}

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
      runnerId,
      leaseSeconds,
      capacity.free === null ? null : JSON.stringify(capacity.free),
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
    await noteTables(this.#database, { pipeline, names: this.#namesOf(pipeline.sourceConnection), tables })
    this.#reads.set(pipeline.id, found)
  }

  async changed({ pipeline }: Claim): Promise<void> {
    await this.#database.query('SELECT etl.mark_followers($1, now())', [pipeline.id])
  }

  /** With a session: in the transaction of the batch, which is open there. */
  async #queryIn<R extends object>(
    session: MetaSession | null,
    text: string,
    values: readonly unknown[],
  ): Promise<R[]> {
    if (session === null) return this.#database.query<R>(text, values)
    return (await session.query(text, values)).rows as R[]
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
    const rows = await this.#queryIn<ControlRow>(session, RECORD, values)
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
      await this.#queryIn(session, text, values)
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
    const rows = await this.#queryIn<{ recorded: string }>(session, text, values)
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
    await this.#queryIn(session, text, values)
  }

  async toRepair(claim: Claim): Promise<RepairKey[]> {
    return this.#database.query<RepairKey & { id: number }>(TO_REPAIR, [claim.pipeline.id])
  }

  async repaired(_claim: Claim, rows: readonly RepairKey[], session: MetaSession | null): Promise<void> {
    const text = 'UPDATE etl.etl_repairs SET repaired_at = clock_timestamp() WHERE id = ANY($1)'
    const values = [rows.map((row) => row.id)]
    await this.#queryIn(session, text, values)
  }

  async hasRefusedRows(claim: Claim): Promise<boolean> {
    const rows = await this.#database.query(
      "SELECT FROM etl.etl_quarantine WHERE pipeline_id = $1 AND status <> 'REPLAYED' LIMIT 1",
      [claim.pipeline.id],
    )
    return rows.length > 0
  }

  async spent(claim: Claim, { blocksRead, walBytes }: RunCost): Promise<void> {
    await this.#note(claim, ADDED_COST, [blocksRead, walBytes])
  }

  async retrying(
    claim: Claim,
    attempt: number,
    error: { message: string; code: string; hint: string },
  ): Promise<void> {
    await this.#note(
      claim,
      `attempts = etl.with_attempt(r, 'failed', $4, $5, $6), attempt = $3, error = $4, error_code = $5, error_hint = $6`,
      [attempt, redactText(error.message), error.code, redactText(error.hint)],
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
      pipeline: claim.pipeline.id,
      fence: claim.fence,
      run: claim.runId,
      outcome: toOutcome(end),
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
      claim.pipeline.id,
      claim.fence,
      claim.runId,
      release.end,
      lost === null ? null : redactText(lost.error),
      lost?.code ?? null,
      lost === null ? null : redactText(lost.hint),
    ],
  )
  return released.length === 1
}

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
