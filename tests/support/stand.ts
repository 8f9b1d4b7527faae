import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from './builders.js'
import { aDatabase, type TestDatabase } from './database.js'
import { aRunner, type TestRunner } from './runner.js'
import { run, type StoredRun } from './runs.js'
import { inTurn } from './sample.js'

/** One of the routes of rows, and between which databases. */
export interface StandRoute {
  readonly name: string
  readonly way: 'pushdown' | 'relay' | 'rows'
  readonly sourceConnection: 'src' | null
  readonly targetConnection: 'dwh' | null
}

/** Every guarantee of the engine holds on each of them. */
export const ROUTES: readonly StandRoute[] = [
  { name: 'pushdown', way: 'pushdown', sourceConnection: null, targetConnection: null },
  { name: 'relay', way: 'relay', sourceConnection: 'src', targetConnection: null },
  { name: 'rows', way: 'rows', sourceConnection: 'src', targetConnection: null },
  {
    name: 'relay into another database',
    way: 'relay',
    sourceConnection: null,
    targetConnection: 'dwh',
  },
]

/** Databases and a runner for the tests of one route. Each test uses its own tables. */
export interface Stand {
  readonly route: StandRoute
  /** The database with the meta store. */
  readonly main: TestDatabase
  readonly source: TestDatabase
  readonly target: TestDatabase
  readonly runner: TestRunner
  pipeline(spec: Partial<PipelineSpec>): Promise<{ id: string }>
  run(pipelineId: string): Promise<StoredRun>
  /** Changes the configuration, as a user with psql would. */
  set(pipelineId: string, column: string, value: unknown): Promise<void>
}

export interface StandOptions {
  readonly env?: Record<string, string>
  /** On how many routes `npm test` runs them; not given: one. */
  readonly count?: number
}

/** The route is known while tests are declared, the stand only while they run. */
type RouteTests = (stand: () => Stand, route: StandRoute) => void

/**
 * The same tests for every route; in `npm test` each file takes the next one, and the first changes with the seed.
 */
export function onEveryRoute(tests: RouteTests, options: StandOptions = {}): void {
  const path = expect.getState().testPath ?? ''
  const place = readdirSync(dirname(path)).sort().indexOf(basename(path))
  onRoutes(inTurn(ROUTES, place, options.count), tests, options)
}

export function onRoutes(routes: readonly StandRoute[], tests: RouteTests, options: StandOptions = {}): void {
  describe.each(routes)('by $name', (route) => {
    let stand: Stand
    beforeAll(async () => {
      stand = await aStand(route, options)
    })
    // Undefined if beforeAll failed: its error is the one to read.
    afterAll(() => stand?.runner.stop())
    tests(() => stand, route)
  })
}

async function aStand(route: StandRoute, { env = {} }: StandOptions): Promise<Stand> {
  const main = await aDatabase({ cinema: true })
  const source = route.sourceConnection === null ? main : await aDatabase({ cinema: true })
  const target = route.targetConnection === null ? main : await aDatabase({ migrated: false })
  if (target !== main) await target.query('CREATE SCHEMA analytics')
  if (target !== main) await target.query('CREATE SCHEMA content')
  const runner = await aRunner(main, {
    way: route.way,
    env: {
      ...(source === main ? {} : { VITRINA_CONNECTION_SRC_URL: source.url }),
      ...(target === main ? {} : { VITRINA_CONNECTION_DWH_URL: target.url }),
      ...env,
    },
  })
  const { sourceConnection, targetConnection } = route
  return {
    route,
    main,
    source,
    target,
    runner,
    pipeline: (spec) => aPipeline(main, { keyColumns: ['id'], sourceConnection, targetConnection, ...spec }),
    run: (pipelineId) => run(main, pipelineId),
    set: async (pipelineId, column, value) => {
      await main.query(`UPDATE etl.etl_pipelines SET ${column} = $2 WHERE id = $1`, [pipelineId, value])
    },
  }
}

/** Every row as the database writes it, sorted: equal if the rows are. */
export async function rowTexts(database: TestDatabase, query: string): Promise<string[]> {
  const rows = await database.query<{ row: string }>(
    `SELECT whole_row::text AS row FROM (${query}) AS whole_row ORDER BY 1`,
  )
  return rows.map(({ row }) => row)
}

export interface StateRow {
  readonly last_processed_key: string | null
  readonly last_processed_id: string | null
}

export async function stateOf(database: TestDatabase, pipelineId: string): Promise<StateRow> {
  const [row] = await database.query<StateRow & Record<string, unknown>>(
    'SELECT last_processed_key, last_processed_id FROM etl.etl_state WHERE pipeline_id = $1',
    [pipelineId],
  )
  return { last_processed_key: row!.last_processed_key, last_processed_id: row!.last_processed_id }
}
