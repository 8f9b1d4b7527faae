import type { ConnectionUse } from '../../model/connection.js'
import type { AuditEntry, BatchHistory, FleetRunner, PartHistory, RunLogLine } from '../../model/history.js'
import type { Due, OrderFacts, OrderGraph } from '../../model/order.js'
import type { FleetSummary, PipelineLine } from '../../model/overview.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run, RunSurroundings } from '../../model/run.js'
import type { CapturedSource } from '../../model/source.js'
import { isOver } from '../../model/status.js'
import type { PipelineTotals, Pulse } from '../../model/totals.js'
import type {
  AuditFilter,
  Catalog,
  OrderDraft,
  Page,
  PageRequest,
  PipelineFilter,
  RunFilter,
  RunLogFilter,
  State,
  StoreFacts,
} from '../../ports/catalog.js'
import type { Database } from '../database.js'
import { requireMigrated } from '../migrate.js'
import { PIPELINE_COLUMNS, type PipelineRow, RUN_COLUMNS, type RunRow, toPipeline, toRun } from '../rows.js'
import { ACTIVE } from '../status-lists.js'
import { fleetPulse, runTotals, secondsSinceSuccess } from '../totals.js'
import { describeStore, listConnectionUses } from './about.js'
import { findPipeline, findRun, findState } from './find.js'
import { listAudit, listBatches, listLog, listParts, listRunners } from './history.js'
import { dueOf, groupOf, orderFactsWith, orderGraph, pipelinesWithoutReads } from './order.js'
import { fleetSummary, listPipelineLines } from './overview.js'
import { pageOf, readCursor } from './page.js'
import { listRuns, runSurroundings } from './runs.js'
import { listSources } from './sources.js'

/** What the API reads from the meta store. One method, one statement. */
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
          AND ($4::text IS NULL OR (p.name, p.id) > ($4, $5::uuid)) AND p.tags @> $7::text[]
        ORDER BY p.name, p.id LIMIT $6`,
      [
        filter.status ?? null,
        filter.enabled ?? null,
        filter.q ?? null,
        after?.[0] ?? null,
        after?.[1] ?? null,
        filter.limit + 1,
        filter.tag ?? [],
      ],
    )
    return pageOf(rows.map(toPipeline), filter.limit, (pipeline) => [pipeline.name, pipeline.id])
  }

  listPipelineLines(filter: PipelineFilter): Promise<Page<PipelineLine>> {
    return listPipelineLines(this.#database, filter)
  }

  fleetSummary(): Promise<FleetSummary> {
    return fleetSummary(this.#database)
  }

  getPipeline(id: string): Promise<Pipeline | null> {
    return findPipeline(this.#database, id)
  }

  getState(pipelineId: string): Promise<State | null> {
    return findState(this.#database, pipelineId)
  }

  listRuns(filter: RunFilter): Promise<Page<Run>> {
    return listRuns(this.#database, filter)
  }

  getRun(id: string): Promise<Run | null> {
    return findRun(this.#database, id)
  }

  runSurroundings(run: Run): Promise<RunSurroundings> {
    return runSurroundings(this.#database, run)
  }

  async currentAndLastRun(pipelineId: string): Promise<{ current: Run | null; last: Run | null }> {
    const newest = (active: string) => `
      (SELECT ${RUN_COLUMNS} FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
        WHERE r.pipeline_id = $1 AND ${active} r.status IN ${ACTIVE} ORDER BY r.id = p.current_run_id DESC, r.requested_at DESC, r.id DESC LIMIT 1)`
    const runs = (
      await this.#database.query<RunRow>(`${newest('')} UNION ALL ${newest('NOT')}`, [pipelineId])
    ).map(toRun)
    const active = (run: Run) => !isOver(run.status)
    return { current: runs.find(active) ?? null, last: runs.find((run) => !active(run)) ?? null }
  }

  orderGraph(): Promise<OrderGraph> {
    return orderGraph(this.#database)
  }

  orderFactsWith(drafts: readonly OrderDraft[], deleted: readonly string[]): Promise<OrderFacts[]> {
    return orderFactsWith(this.#database, drafts, deleted)
  }

  groupOf(pipelineId: string): Promise<readonly string[] | null> {
    return groupOf(this.#database, pipelineId)
  }

  dueOf(pipelineId: string): Promise<Due | null> {
    return dueOf(this.#database, pipelineId)
  }

  pipelinesWithoutReads(isFirst: boolean): Promise<string[]> {
    return pipelinesWithoutReads(this.#database, isFirst)
  }

  listBatches(runId: string, page: PageRequest): Promise<Page<BatchHistory>> {
    return listBatches(this.#database, runId, page)
  }

  listParts(runId: string, page: PageRequest): Promise<Page<PartHistory>> {
    return listParts(this.#database, runId, page)
  }

  listLog(runId: string, filter: RunLogFilter): Promise<Page<RunLogLine>> {
    return listLog(this.#database, runId, filter)
  }

  listSources(): Promise<CapturedSource[]> {
    return listSources(this.#database)
  }

  listConnectionUses(): Promise<ConnectionUse[]> {
    return listConnectionUses(this.#database)
  }

  describeStore(): Promise<StoreFacts> {
    return describeStore(this.#database)
  }

  listRunners(): Promise<FleetRunner[]> {
    return listRunners(this.#database)
  }

  listAudit(filter: AuditFilter): Promise<Page<AuditEntry>> {
    return listAudit(this.#database, filter)
  }

  secondsSinceSuccess(pipelineId: string): Promise<number | null> {
    return secondsSinceSuccess(this.#database, pipelineId)
  }

  runTotals(): Promise<PipelineTotals[]> {
    return runTotals(this.#database)
  }

  fleetPulse(): Promise<Pulse> {
    return fleetPulse(this.#database)
  }

  async ping(): Promise<void> {
    await requireMigrated((sql) => this.#database.query(sql))
  }
}
