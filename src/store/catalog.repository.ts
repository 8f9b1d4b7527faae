import { VitrinaError } from '../model/errors.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Run } from '../model/run.js'
import type { PipelineStatus } from '../model/status.js'
import type { PipelineTotals } from '../model/totals.js'
import type { Catalog, Page, PipelineFilter, RunFilter, State } from '../ports/catalog.js'
import type { Database, Queryable } from './database.js'
import { requireMigrated } from './migrate.js'
import { PIPELINE_COLUMNS, type PipelineRow, RUN_COLUMNS, type RunRow, toPipeline, toRun } from './rows.js'
import { countByStatus, lastHeartbeat, runTotals, secondsSinceSuccess } from './totals.js'

/** The meta store for the API. One method, one statement or one short transaction. */
export class CatalogRepository implements Catalog {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listPipelines(filter: PipelineFilter): Promise<Page<Pipeline>> {
    const after = filter.cursor === undefined ? null : readCursor(filter.cursor, 2)
    const rows = await this.#database.query<PipelineRow>(
      `SELECT ${PIPELINE_COLUMNS} FROM etl.etl_pipelines p
        WHERE ($1::text IS NULL OR p.status = $1) AND ($2::boolean IS NULL OR p.enabled = $2)
          AND ($3::text IS NULL OR strpos(lower(p.name), lower($3)) > 0)
          AND ($4::text IS NULL OR (p.name, p.id) > ($4, $5::uuid))
        ORDER BY p.name, p.id LIMIT $6`,
      [
        filter.status ?? null,
        filter.enabled ?? null,
        filter.q ?? null,
        after?.[0] ?? null,
        after?.[1] ?? null,
        filter.limit + 1,
      ],
    )
    return page(rows.map(toPipeline), filter.limit, (pipeline) => [pipeline.name, pipeline.id])
  }

  async getPipeline(id: string): Promise<Pipeline | null> {
    const [row] = await this.#database.query<PipelineRow>(
      `SELECT ${PIPELINE_COLUMNS} FROM etl.etl_pipelines p WHERE p.id = $1`,
      [id],
    )
    return row === undefined ? null : toPipeline(row)
  }

  async getState(pipelineId: string): Promise<State | null> {
    const [row] = await this.#database.query<{
      last_processed_key: string | null
      last_processed_id: string | null
      updated_at: string
    }>(
      'SELECT last_processed_key, last_processed_id, etl.rfc3339(updated_at) AS updated_at FROM etl.etl_state WHERE pipeline_id = $1',
      [pipelineId],
    )
    if (row === undefined) return null
    return {
      pipelineId,
      lastProcessedKey: row.last_processed_key,
      lastProcessedId: row.last_processed_id,
      updatedAt: row.updated_at,
    }
  }

  async listRuns(filter: RunFilter): Promise<Page<Run>> {
    const after = filter.cursor === undefined ? null : readCursor(filter.cursor, 2)
    const rows = await this.#database.query<RunRow>(
      `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
        WHERE ($1::uuid IS NULL OR r.pipeline_id = $1) AND ($2::timestamptz IS NULL OR (r.requested_at, r.id) < ($2, $3::uuid))
        ORDER BY r.requested_at DESC, r.id DESC LIMIT $4`,
      [filter.pipelineId ?? null, after?.[0] ?? null, after?.[1] ?? null, filter.limit + 1],
    )
    return page(rows.map(toRun), filter.limit, (run) => [run.requestedAt, run.id])
  }

  getRun(id: string): Promise<Run | null> {
    return findRun(this.#database, id)
  }

  async currentAndLastRun(pipelineId: string): Promise<{ current: Run | null; last: Run | null }> {
    const newest = (active: string) => `
      (SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
        WHERE r.pipeline_id = $1 AND ${active} r.status IN ('REQUESTED', 'RUNNING') ORDER BY r.requested_at DESC, r.id DESC LIMIT 1)`
    const runs = (
      await this.#database.query<RunRow>(`${newest('')} UNION ALL ${newest('NOT')}`, [pipelineId])
    ).map(toRun)
    const active = (run: Run) => run.status === 'REQUESTED' || run.status === 'RUNNING'
    return { current: runs.find(active) ?? null, last: runs.find((run) => !active(run)) ?? null }
  }

  async requestRun(pipelineId: string): Promise<Run | null> {
    return this.#database.transaction(async (session) => {
      await session.query("SELECT set_config('vitrina.trigger', 'api', true)")
      const [pipeline] = await session.query<{
        status: string
        enabled: boolean
        current_run_id: string | null
      }>('SELECT status, enabled, current_run_id FROM etl.etl_pipelines WHERE id = $1 FOR UPDATE', [
        pipelineId,
      ])
      if (pipeline === undefined || !pipeline.enabled) return null
      if (['IDLE', 'PAUSED', 'FAILED'].includes(pipeline.status)) {
        const [moved] = await session.query<{ current_run_id: string }>(
          "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
          [pipelineId],
        )
        return findRun(session, moved!.current_run_id)
      }
      return pipeline.current_run_id === null ? null : findRun(session, pipeline.current_run_id)
    })
  }

  async requestPause(pipelineId: string): Promise<Pipeline | null> {
    await this.#database.query(
      "UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1 AND status = 'RUNNING'",
      [pipelineId],
    )
    const pipeline = await this.getPipeline(pipelineId)
    return pipeline !== null && ['PAUSE_REQUESTED', 'PAUSED'].includes(pipeline.status) ? pipeline : null
  }

  secondsSinceSuccess(pipelineId: string): Promise<number | null> {
    return secondsSinceSuccess(this.#database, pipelineId)
  }

  countByStatus(): Promise<Record<PipelineStatus, number>> {
    return countByStatus(this.#database)
  }

  runTotals(bounds: readonly number[]): Promise<PipelineTotals[]> {
    return runTotals(this.#database, bounds)
  }

  lastHeartbeat(): Promise<number | null> {
    return lastHeartbeat(this.#database)
  }

  async ping(): Promise<void> {
    await requireMigrated((sql) => this.#database.query(sql))
  }
}

async function findRun(session: Queryable, id: string): Promise<Run | null> {
  const [row] = await session.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id WHERE r.id = $1`,
    [id],
  )
  return row === undefined ? null : toRun(row)
}

function page<T>(items: T[], limit: number, keys: (item: T) => string[]): Page<T> {
  const last = items.length > limit ? items[limit - 1] : undefined
  return {
    items: items.slice(0, limit),
    nextCursor: last === undefined ? null : Buffer.from(JSON.stringify(keys(last))).toString('base64url'),
  }
}

function readCursor(cursor: string, length: number): string[] {
  try {
    const keys: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(keys) && keys.length === length && keys.every((key) => typeof key === 'string'))
      return keys
  } catch {
    // Falls through to the answer below: what is not JSON was not made by us either.
  }
  throw new VitrinaError(
    'REQUEST_INVALID',
    'The cursor was not made by this server.',
    'Take cursor from next_cursor of the last answer, unchanged.',
  )
}
