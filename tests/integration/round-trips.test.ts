import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, type LogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const TABLES = `
  CREATE SCHEMA content;
  CREATE TABLE content.film (id int PRIMARY KEY, title text, modified timestamptz NOT NULL DEFAULT now());
  CREATE TABLE content.rating (id int, film_id int NOT NULL, score int, modified timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, film_id));
  CREATE INDEX ON content.rating (film_id); CREATE INDEX ON content.rating (modified); CREATE INDEX ON content.film (modified);
  INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 200) n;
  INSERT INTO content.rating SELECT n, n % 200 + 1, n % 10 FROM generate_series(1, 4000) n; ANALYZE`

const STATS = `SELECT f.id, f.title, count(r.id)::int AS ratings, max(r.modified) AS updated_at
  FROM content.film f JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`

let server: LogicalServer
let main: TestDatabase
let source: TestDatabase
let runner: TestRunner

beforeAll(async () => {
  server = await aLogicalServer()
  main = await aDatabase()
  source = await aDatabase({ migrated: false, server })
  await source.query(TABLES)
  await prepareSource(main, source, { connection: 'src', tables: ['content.film', 'content.rating'] })
  const env = { ALLOWED_SOURCE_SCHEMAS: 'content', VITRINA_CONNECTION_SRC_URL: source.url }
  runner = await aRunner(main, { way: 'relay', env })
})
afterAll(async () => {
  await runner?.stop()
  await source?.drop()
  await server?.stop()
})

/** Statements of sessions of runs that were sent while no other was on its way: each is a round trip. */
let trips: string[] = []

beforeEach(() => {
  const { query } = pg.Client.prototype
  const names = new WeakMap<object, string>()
  const onTheWay = new WeakMap<object, number>()
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [config] = given as [string | { text?: string }]
    const text = typeof config === 'string' ? config : (config.text ?? '')
    const name = /^SET application_name = '(vitrina-run|vitrina-changes)/.exec(text)?.[1]
    if (name !== undefined) names.set(this, name)
    const count = onTheWay.get(this) ?? 0
    if (names.get(this) === 'vitrina-run' && count === 0) trips.push(text.trim().slice(0, 60))
    onTheWay.set(this, count + 1)
    const answer = (query as (...all: unknown[]) => unknown).apply(this, given)
    if (answer instanceof Promise) {
      const answered = () => void onTheWay.set(this, (onTheWay.get(this) ?? 1) - 1)
      answer.then(answered, answered)
    } else onTheWay.set(this, count)
    return answer as never
  })
})
afterEach(() => vi.restoreAllMocks())

async function isLeft(): Promise<boolean> {
  const used =
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^vitrina-(run |changes$)'"
  const [inMain, inSource] = await Promise.all([
    main.query(`${used} AND application_name <> 'vitrina-changes'`),
    source.query(used),
  ])
  return inMain.length + inSource.length === 0
}

const touch = (count: number) =>
  source.query(
    `UPDATE content.rating SET score = score + 1, modified = clock_timestamp() WHERE id <= ${count}`,
  )

it.each([
  ['key', { incrementalKey: 'updated_at' }, { none: 19, few: 30 }],
  ['wal', {}, { none: 17, few: 28 }],
] as const)(
  'a run with capture "%s" takes no more round trips than it needs',
  async (capture, more, most) => {
    const spec: Partial<PipelineSpec> = {
      mode: 'incremental',
      capture,
      keyColumns: ['id'],
      sourceConnection: 'src',
      ...more,
    }
    const mart = `analytics.stats_${capture}`
    const { id } = await aPipeline(main, { sourceQuery: STATS, targetTable: mart, ...spec })
    const succeeds = async () => {
      trips = []
      expect(await run(main, id)).toMatchObject({ status: 'SUCCESS' })
      await waitFor(isLeft, { what: 'the run to leave its sessions' })
      return trips.filter((text) => !text.startsWith('CLOSE ALL'))
    }
    // The first fills the mart, the second examines it, and the first with changes asks the planner and audits.
    for (let round = 0; round < 3; round++) {
      await touch(10)
      await succeeds()
    }
    for (let round = 0; round < 5; round++) {
      const none = await succeeds()
      expect(none.length, none.join('\n')).toBeLessThanOrEqual(most.none)
    }
    for (let round = 0; round < 3; round++) {
      let few: string[]
      // An audit is due when its share of the time allows it, which differs with the load.
      do {
        await touch(10)
        few = await succeeds()
      } while (few.some((text) => text.includes('vitrina_audit')))
      expect(few.length, few.join('\n')).toBeLessThanOrEqual(most.few)
    }
    expect(await rowTexts(main, `SELECT * FROM ${mart}`)).toEqual(await rowTexts(source, STATS))
  },
)
