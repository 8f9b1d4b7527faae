import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { longestPaths } from '../../model/order.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import { isPausing, isStartable } from '../../model/status.js'
import type {
  CancelManner,
  RequestedWave,
  RunControl,
  RunRequest,
  WaveRequest,
} from '../../ports/run-control.js'
import type { Database, Queryable } from '../database.js'
import { RUN_COLUMNS, type RunRow, toRun } from '../rows.js'
import { HELD } from '../status-lists.js'
import { signTransaction, writeAudit } from './audit.js'
import { findPipeline, findRun, lockPipeline } from './find.js'
import { remember, rememberedWave, repeated } from './idempotency.js'

/** What the API requests from the runners. Every request is one short transaction with its entry in the audit. */
export class CatalogControlRepository implements RunControl {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  requestRun(request: RunRequest): Promise<{ run: Run; replayed: boolean } | null> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, request.author)
      const earlier = await repeated(session, request)
      if (earlier !== null) {
        const run = await findRun(session, earlier)
        return run === null ? null : { run, replayed: true }
      }
      const pipeline = await lockPipeline(session, request.pipelineId)
      if (pipeline === null) return null
      const run = await activeOrNew(session, pipeline, request)
      await remember(session, request, { runId: run.id })
      return { run, replayed: false }
    })
  }

  requestWave(request: WaveRequest): Promise<RequestedWave | null> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, request.author)
      const earlier = await repeated(session, request)
      if (earlier !== null) {
        const run = await findRun(session, earlier)
        const runs = await findRuns(session, await rememberedWave(session, request))
        return run === null ? null : { run, runs, replayed: true }
      }
      const pipeline = await findPipeline(session, request.pipelineId)
      if (pipeline === null) return null
      if (!pipeline.enabled) throw disabled(pipeline.name)
      const wave = await planWave(session, request)
      await remember(session, request, { runId: wave.run.id, wave: wave.runs.map(({ id }) => id) })
      return { ...wave, replayed: false }
    })
  }

  requestRepair(
    pipelineId: string,
    keys: readonly (readonly (string | null)[])[],
    author: Author,
  ): Promise<Run | null> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, author)
      const pipeline = await lockPipeline(session, pipelineId)
      if (pipeline === null || pipeline.status === 'PAUSE_REQUESTED') return null
      if (!pipeline.enabled) throw disabled(pipeline.name)
      const run = await runToRepairWith(session, pipeline)
      await session.query(
        'INSERT INTO etl.etl_repairs (run_id, key) SELECT $1, ARRAY(SELECT jsonb_array_elements_text(key)) FROM jsonb_array_elements($2::jsonb) AS key',
        [run, JSON.stringify(keys)],
      )
      await writeAudit(session, author, {
        action: 'pipeline.repair',
        kind: 'pipeline',
        id: pipelineId,
        name: pipeline.name,
      })
      return findRun(session, run)
    })
  }

  requestPause(pipelineId: string, author: Author): Promise<Pipeline | null> {
    return this.#database.transaction(async (session) => {
      const [moved] = await session.query<{ name: string }>(
        "UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1 AND status = 'RUNNING' RETURNING name",
        [pipelineId],
      )
      if (moved !== undefined)
        await writeAudit(session, author, {
          action: 'pipeline.pause',
          kind: 'pipeline',
          id: pipelineId,
          name: moved.name,
        })
      const pipeline = await findPipeline(session, pipelineId)
      return pipeline !== null && isPausing(pipeline.status) ? pipeline : null
    })
  }

  cancelRun(runId: string, author: Author, { force }: CancelManner): Promise<Run | null> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, author)
      await lockUnit(session, runId)
      const run = await findRun(session, runId)
      if (run === null) return null
      const cancel = await cancellerOf(session, run, force)
      if (!(await cancel(session, run))) return run
      for (const mate of await matesOf(session, run))
        await (await cancellerOf(session, mate, force))(session, mate)
      await writeAudit(session, author, {
        action: 'run.cancel',
        kind: 'run',
        id: runId,
        name: run.pipelineName,
        diff: { pipeline_id: run.pipelineId, ...(force ? { force } : {}) },
      })
      return findRun(session, runId)
    })
  }
}

/** The run that is requested or in progress, which repairs before it ends, or a new one for this purpose only. */
async function runToRepairWith(session: Queryable, { id, status }: Pipeline): Promise<string> {
  const isFree = isStartable(status)
  if (isFree) await session.query("SELECT set_config('vitrina.trigger', 'repair', true)")
  const [row] = await session.query<{ run: string }>(
    isFree
      ? "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id AS run"
      : 'SELECT current_run_id AS run FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return row!.run
}

/** The run that is requested or in progress, or a new one. Throws PIPELINE_DISABLED. */
export async function activeOrNew(session: Queryable, pipeline: Pipeline, request: RunRequest): Promise<Run> {
  const { externalRef, parent, author } = request
  const { id, name, status } = pipeline
  if (!isStartable(status)) return activeRun(session, id, externalRef)
  if (!pipeline.enabled) throw disabled(name)
  const [moved] = await session.query<{ current_run_id: string }>(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
    [id],
  )
  const runId = moved!.current_run_id
  if (externalRef !== undefined || parent !== undefined)
    await session.query('UPDATE etl.etl_runs SET external_ref = $2, openlineage_parent = $3 WHERE id = $1', [
      runId,
      externalRef ?? null,
      parent ?? null,
    ])
  await writeAudit(session, author, {
    action: 'pipeline.run',
    kind: 'pipeline',
    id,
    name,
    diff: { run_id: runId },
  })
  return (await findRun(session, runId))!
}

/** An orchestrator that names its run must not get the run of another one. */
async function activeRun(
  session: Queryable,
  pipelineId: string,
  externalRef: string | undefined,
): Promise<Run> {
  const [row] = await session.query<{ current_run_id: string }>(
    'SELECT current_run_id FROM etl.etl_pipelines WHERE id = $1',
    [pipelineId],
  )
  const run = (await findRun(session, row!.current_run_id))!
  if (externalRef === undefined || run.externalRef === externalRef) return run
  throw runActive(run)
}

function runActive(run: Run): VitrinaError {
  return new VitrinaError(
    'RUN_ACTIVE',
    `Run ${run.id} of pipeline "${run.pipelineName}" is ${run.status}${run.externalRef === null ? '' : ` for "${run.externalRef}"`}.`,
    'Wait until it has ended or cancel it, then request again.',
    { facts: { run_id: run.id } },
  )
}

interface PlannedRow {
  readonly pipeline_id: string
  readonly run_id: string
  readonly is_new: boolean
}

/** The order of the answer is the one in which the runs may start. */
async function planWave(
  session: Queryable,
  { pipelineId, wave, externalRef, author }: WaveRequest,
): Promise<Omit<RequestedWave, 'replayed'>> {
  const planned = await session.query<PlannedRow>('SELECT * FROM etl.plan_wave($1, $2)', [pipelineId, wave])
  const own = planned.find(({ pipeline_id }) => pipeline_id === pipelineId)!
  if (externalRef !== undefined && own.is_new)
    await session.query('UPDATE etl.etl_runs SET external_ref = $2 WHERE id = $1', [own.run_id, externalRef])
  const run = (await findRun(session, own.run_id))!
  if (externalRef !== undefined && run.externalRef !== externalRef) throw runActive(run)
  const runs = await findRuns(
    session,
    planned.map(({ run_id }) => run_id),
  )
  const diff = { run_id: run.id, with: wave, runs: runs.map(({ id }) => id) }
  await writeAudit(session, author, {
    action: 'pipeline.run',
    kind: 'pipeline',
    id: run.pipelineId,
    name: run.pipelineName,
    diff,
  })
  return { run, runs }
}

/** Upstreams first, otherwise by name. */
async function findRuns(session: Queryable, ids: readonly string[]): Promise<Run[]> {
  const rows = await session.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
      WHERE r.id = ANY ($1) ORDER BY p.name, r.id`,
    [ids],
  )
  const runs = rows.map(toRun)
  const pipelines = runs.map(({ pipelineId }) => pipelineId)
  const edges = await session.query<{ from: string; to: string }>(
    `SELECT DISTINCT upstream_id AS "from", downstream_id AS "to" FROM etl.pipeline_edges
      WHERE upstream_id = ANY ($1) AND downstream_id = ANY ($1)`,
    [pipelines],
  )
  const steps = longestPaths(pipelines, edges)
  return runs.toSorted((a, b) => steps.get(a.pipelineId)! - steps.get(b.pipelineId)!)
}

/**
 * The lock of the pipeline first, as the runner takes it: a concurrent claim comes before or after this. With those of
 * its group, in the order in which everything locks several of them.
 */
async function lockUnit(session: Queryable, runId: string): Promise<void> {
  await session.query(
    `WITH own AS (SELECT pipeline_id FROM etl.etl_runs WHERE id = $1)
     SELECT FROM etl.etl_pipelines p
      WHERE p.id IN (SELECT pipeline_id FROM own
                     UNION SELECT m.pipeline_id FROM own JOIN etl.etl_pipeline_groups g USING (pipeline_id) JOIN etl.etl_pipeline_groups m USING (head_id)
                     UNION SELECT r.pipeline_id FROM etl.etl_runs r WHERE r.group_run = (SELECT group_run FROM etl.etl_runs WHERE id = $1))
      ORDER BY p.id FOR UPDATE`,
    [runId],
  )
}

/** Runs of its group that would begin, or are published, together with this one: a group is cancelled as a whole. */
async function matesOf(session: Queryable, { id, pipelineId }: Run): Promise<Run[]> {
  const rows = await session.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND p.current_run_id = r.id
      WHERE r.id <> $1 AND (
        r.status = 'RUNNING' AND r.group_run = (SELECT o.group_run FROM etl.etl_runs o WHERE o.id = $1)
        OR r.status = 'REQUESTED' AND p.status = 'RUN_REQUESTED'
           AND $1 = (SELECT q.current_run_id FROM etl.etl_pipelines q WHERE q.id = $2)
           AND p.id IN (SELECT m.pipeline_id FROM etl.etl_pipeline_groups g JOIN etl.etl_pipeline_groups m USING (head_id) WHERE g.pipeline_id = $2))`,
    [id, pipelineId],
  )
  return rows.map(toRun)
}

type Cancel = (session: Queryable, run: Run) => Promise<boolean>

async function cancellerOf(session: Queryable, run: Run, force: boolean): Promise<Cancel> {
  if (run.status !== 'REQUESTED') return force ? cutOff : cancelRunning
  const [row] = await session.query<{ queued: boolean }>(
    'SELECT current_run_id = $1 AS queued FROM etl.etl_pipelines WHERE id = $2',
    [run.id, run.pipelineId],
  )
  return row?.queued ? cancelRequested : cancelPlanned
}

/** A run that waits for the pipelines that it follows: its pipeline does not know it yet. */
async function cancelPlanned(session: Queryable, { id }: Run): Promise<boolean> {
  await session.query(
    "UPDATE etl.etl_runs SET status = 'CANCELLED', cancel_requested = true, finished_at = clock_timestamp() WHERE id = $1",
    [id],
  )
  return true
}

/** By valid transitions only: other sessions see the pipeline claimed and released at once. */
async function cancelRequested(session: Queryable, { id, pipelineId }: Run): Promise<boolean> {
  await session.query(
    "UPDATE etl.etl_runs SET status = 'CANCELLED', cancel_requested = true, finished_at = clock_timestamp() WHERE id = $1",
    [id],
  )
  await session.query("UPDATE etl.etl_pipelines SET status = 'RUNNING', fence = fence + 1 WHERE id = $1", [
    pipelineId,
  ])
  await session.query("UPDATE etl.etl_pipelines SET status = 'IDLE' WHERE id = $1", [pipelineId])
  return true
}

/**
 * Ends a run while it has a holder. The fence moves on, so everything the holder still does is rolled back (invariant
 * 4), and the lease is gone, so the holder stops at its next renewal. False: it has ended.
 */
async function cutOff(session: Queryable, { id, pipelineId }: Run): Promise<boolean> {
  const ended = await session.query(
    "UPDATE etl.etl_runs SET status = 'CANCELLED', cancel_requested = true, finished_at = clock_timestamp() WHERE id = $1 AND status = 'RUNNING' RETURNING id",
    [id],
  )
  if (ended.length === 0) return false
  await session.query(
    `UPDATE etl.etl_pipelines SET fence = fence + 1, status = CASE status WHEN 'PAUSE_REQUESTED' THEN 'PAUSED' ELSE 'IDLE' END
      WHERE id = $1 AND current_run_id = $2 AND status IN ${HELD}`,
    [pipelineId, id],
  )
  return true
}

/** False: it has ended, or its end was already requested. */
async function cancelRunning(session: Queryable, { id }: Run): Promise<boolean> {
  const rows = await session.query(
    "UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1 AND status = 'RUNNING' AND NOT cancel_requested RETURNING id",
    [id],
  )
  return rows.length === 1
}

function disabled(name: string): VitrinaError {
  return new VitrinaError(
    'PIPELINE_DISABLED',
    `Pipeline "${name}" is disabled.`,
    'Enable it, then run it again.',
  )
}
