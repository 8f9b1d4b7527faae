import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import type { Pipeline } from '../model/pipeline.js'
import { sinkKinds } from '../sinks/index.js'
import { PostgresMartData } from './postgres-mart-data.js'
import type { ProfileLimits } from './profile.js'
import { estimateDistinct } from './profile-column.js'

let database: TestDatabase
const opened: PostgresMartData[] = []
const signal = AbortSignal.timeout(600_000)

beforeAll(async () => {
  database = await aDatabase()
  await database.query(
    'CREATE TABLE analytics.large (id int PRIMARY KEY, kind int, half text, code text, at timestamptz)',
  )
  await database.query(
    `INSERT INTO analytics.large SELECT n, n % 40, CASE WHEN n % 2 = 0 THEN 'x' END, md5(n::text), timestamptz '2026-01-01' + n * interval '1 second'
       FROM generate_series(1, 50000) n`,
  )
  await database.query('ANALYZE analytics.large')
})
afterAll(() => Promise.all(opened.map((data) => data.close())))

async function dataOf(
  targetTable: string,
  limits: ProfileLimits,
  statementMs = 10_000,
): Promise<{ readonly data: PostgresMartData; readonly pipeline: Pipeline }> {
  const { id, spec } = await aPipeline(database, { targetTable, sharedTarget: true })
  const data = new PostgresMartData({
    martUrl: database.loginUrl('meta'),
    connections: new Map(),
    targets: {
      tables: ['analytics.*'],
      kinds: sinkKinds({ ELASTICSEARCH_URL: 'http://127.0.0.1:1' }),
    },
    limits,
    statementMs,
  })
  opened.push(data)
  return { data, pipeline: { ...spec, id, tasks: [] } as unknown as Pipeline }
}

it('estimates from a sample of a large table, and reports it', async () => {
  const { data, pipeline } = await dataOf('analytics.large', {
    timeMs: 20_000,
    exactRows: 10_000,
    sampleRows: 10_000,
  })
  const profile = await data.profile(pipeline, signal)
  expect(profile.rowsExact).toBe(false)
  expect(profile.rows).toBeGreaterThan(45_000)
  expect(profile.samplePercent).toBeCloseTo(20, 0)
  expect(profile.rowsExamined).toBeGreaterThan(2_000)
  expect(profile.rowsExamined).toBeLessThan(30_000)
  const column = (name: string) => profile.columns.find((one) => one.name === name)!
  expect(column('kind')).toMatchObject({ distinct: 40, distinctExact: false })
  // Every value of the sample occurs once: the estimate is the whole table.
  expect(column('code').distinct).toBeGreaterThan(45_000)
  expect(column('half').nullsExact).toBe(false)
  expect(column('half').nulls / profile.rows).toBeCloseTo(0.5, 1)
  // From the index of the key, not from the sample.
  expect(column('id')).toMatchObject({ min: '1', max: '50000', rangeExact: true })
  expect(column('at').rangeExact).toBe(false)
  expect(profile.suggestedChecks.map(({ type }) => type)).toEqual(['row_count'])
})

it('names the columns for which no time was left', async () => {
  const { data, pipeline } = await dataOf('analytics.large', { timeMs: 0, exactRows: 1, sampleRows: 1 })
  const profile = await data.profile(pipeline, signal)
  expect(profile.columns).toHaveLength(5)
  for (const { skipped } of profile.columns) expect(skipped).toMatch(/time limit/)
  const brief = await dataOf('analytics.large', { timeMs: 3, exactRows: 1e9, sampleRows: 1 })
  const some = await brief.data.profile(brief.pipeline, signal)
  expect(some.columns.at(-1)!.skipped).toMatch(/time limit/)
})

it('refuses targets that are not in PostgreSQL', async () => {
  const { data, pipeline } = await dataOf('es:film_dim', { timeMs: 1, exactRows: 1, sampleRows: 1 })
  for (const read of [data.rows(pipeline, { limit: 1 }, signal), data.profile(pipeline, signal)])
    await expect(read).rejects.toMatchObject({
      code: 'ROWS_UNSUPPORTED',
      message: expect.stringContaining('es:film_dim'),
      hint: expect.stringContaining('elasticsearch'),
    })
})

it('reports a mart that takes too long to read, or that is locked', async () => {
  await database.query('CREATE TABLE analytics.slow AS SELECT n FROM generate_series(1, 3) n')
  await database.query('ALTER TABLE analytics.slow ENABLE ROW LEVEL SECURITY')
  await database.query('CREATE POLICY p ON analytics.slow USING (pg_sleep(60) IS NOT NULL)')
  await database.query('GRANT SELECT ON analytics.slow TO vitrina_meta')
  const { data, pipeline } = await dataOf('analytics.slow', { timeMs: 50, exactRows: 1e9, sampleRows: 9 }, 50)
  await expect(data.rows(pipeline, { limit: 1 }, signal)).rejects.toMatchObject({ code: 'MART_TOO_SLOW' })
  expect((await data.profile(pipeline, signal)).columns[0]!.skipped).toMatch(/time limit/)
  const client = await database.client()
  await client.query('BEGIN; LOCK TABLE analytics.slow IN ACCESS EXCLUSIVE MODE')
  const locked = await dataOf('analytics.slow', { timeMs: 50, exactRows: 1e9, sampleRows: 9 })
  await expect(locked.data.rows(locked.pipeline, { limit: 1 }, signal)).rejects.toMatchObject({
    code: 'DATABASE_ERROR',
    message: expect.stringContaining('lock timeout'),
  })
  await client.query('ROLLBACK')
})

it('estimates distinct values between those seen and all rows', () => {
  expect(estimateDistinct({ rows: 0, total: 100 }, 0, 0)).toBe(0)
  expect(estimateDistinct({ rows: 10, total: 100 }, 10, 10)).toBe(100)
  expect(estimateDistinct({ rows: 100, total: 1_000 }, 5, 0)).toBe(5)
})
