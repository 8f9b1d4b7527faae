import type { Session } from '../../postgres/session.js'

/** Below this size, cutting a run costs more than it saves. */
const LEAST_ROWS_EACH = 250_000
/** A cluster is chosen for functions that take long, and its parts should be many enough for all its cores. */
const LEAST_ROWS_EACH_ON_ENGINE = 50_000
const MOST_AT_ONCE_ON_ENGINE = 64
/** A part of this size takes some seconds: a pause waits for it, and a runner that dies loses it. */
const MOST_ROWS_EACH = 500_000
/** One source connection each. */
const MOST_AT_ONCE = 8
const MOST_PARTS = 1024

/** How many parts are executed at the same time, and how many there are. */
export interface PartCount {
  readonly width: number
  readonly parts: number
}

export interface Demand {
  /** Null: auto. */
  readonly parallelism: number | null
  /** The planner's estimate. */
  readonly rows: number
  /** Runner slots that are free besides the one of the run. */
  readonly freeSlots: number
  /** Connections that the source accepts besides those in use. */
  readonly freeConnections: number
}

/** For auto, a quarter of what the source has free at most: other pipelines and its own users need connections too. */
export function partCount({ parallelism, rows, freeSlots, freeConnections }: Demand): PartCount {
  const width = parallelism ?? auto(rows, freeSlots, freeConnections)
  if (width <= 1) return { width: 1, parts: 1 }
  return { width, parts: Math.min(MOST_PARTS, Math.max(width, Math.ceil(rows / MOST_ROWS_EACH))) }
}

/** The same for an engine outside the runners. One part at a time makes no use of it: 1, the default, means auto. */
export function enginePartCount({
  parallelism,
  rows,
  freeConnections,
}: Omit<Demand, 'freeSlots'>): PartCount {
  const limits = [Math.ceil(rows / LEAST_ROWS_EACH_ON_ENGINE), freeConnections / 4, MOST_AT_ONCE_ON_ENGINE]
  const chosen = Math.max(2, Math.floor(Math.min(...limits)))
  const width = parallelism === null || parallelism === 1 ? chosen : parallelism
  return { width, parts: Math.min(MOST_PARTS, Math.max(width, Math.ceil(rows / MOST_ROWS_EACH))) }
}

function auto(rows: number, freeSlots: number, freeConnections: number): number {
  const limits = [rows / LEAST_ROWS_EACH, freeSlots + 1, freeConnections / 4, MOST_AT_ONCE]
  return Math.max(1, Math.floor(Math.min(...limits)))
}

export async function freeConnections(source: Session): Promise<number> {
  const { free } = await source.row(
    `SELECT current_setting('max_connections')::integer - count(*) AS free FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  )
  return Number(free)
}
