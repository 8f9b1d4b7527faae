import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { aPipeline, type PipelineOverrides } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { anEngine } from '../../tests/support/spark-engine.js'
import { readSettings } from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import type { Validation } from '../model/validation.js'
import { createTransforms } from '../transforms/index.js'
import { PipelineInspector } from './inspector.js'

let database: TestDatabase

beforeAll(async () => {
  database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.film (id int PRIMARY KEY, title text, modified timestamptz NOT NULL DEFAULT now());
    CREATE TABLE content.rating (id int PRIMARY KEY, film_id int NOT NULL, place int GENERATED ALWAYS AS IDENTITY, score float8);
    CREATE TABLE content.setting (rate int PRIMARY KEY);
    INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 2000) n;
    INSERT INTO content.rating (id, film_id, score) SELECT n, n % 2000 + 1, n FROM generate_series(1, 20000) n;
    INSERT INTO content.setting VALUES (1);
    GRANT USAGE ON SCHEMA content TO vitrina_reader; GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.film; ANALYZE content.rating`)
})

async function validated(overrides: PipelineOverrides): Promise<Validation> {
  const inspector = new PipelineInspector({
    readerUrl: database.loginUrl('reader'),
    martUrl: database.loginUrl('writer'),
    connections: new Map(),
    targets: { tables: ['analytics.*'], kinds: [] },
    sourceSchemas: ['content'],
    guard: new SqlGuard({ sourceSchemas: ['content'] }),
    transforms: createTransforms(readSettings({ VITRINA_PYTHON_TASKS: '/nowhere' })),
    engine: anEngine(),
  })
  onTestFinished(() => inspector.close())
  const { id, spec } = await aPipeline(database, {
    ...{ mode: 'incremental', capture: 'wal', keyColumns: ['id'], incrementalKey: null },
    ...overrides,
  })
  const saved = { managedBy: 'api', status: 'IDLE', configVersion: 1, createdAt: '', updatedAt: '' } as const
  return inspector.validate({ ...spec, ...saved, id, tasks: [] }, new AbortController().signal)
}

const codes = ({ warnings }: Validation) => warnings.map(({ code }) => code)
const tableOf = ({ changes }: Validation, name: string) => changes?.tables.find(({ table }) => table === name)

const STATS = `SELECT f.id, f.title, sum(r.score) AS total
  FROM content.film f LEFT JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`

it('shows for each table how a change is followed, what one row costs, and the missing index', async () => {
  const before = await validated({ sourceQuery: STATS, targetTable: 'analytics.stats' })
  expect(before).toMatchObject({ valid: true, changes: { full: null, scope: ['id'] } })
  const rating = tableOf(before, 'content.rating')!
  expect(rating).toMatchObject({ reason: null, scans: ['content.rating'] })
  expect(rating.keyQueries).toEqual([expect.stringContaining('unnest($1::text[])')])
  expect(rating.indexes).toEqual([
    {
      table: 'content.rating',
      statement: 'CREATE INDEX CONCURRENTLY ON "content"."rating" ("film_id")',
    },
  ])
  expect(codes(before).filter((code) => code === 'INDEX_MISSING')).toHaveLength(1)
  await database.query(rating.indexes[0]!.statement)
  await database.query('ANALYZE content.rating')
  const after = await validated({ sourceQuery: STATS, targetTable: 'analytics.stats_after' })
  expect(tableOf(after, 'content.rating')).toMatchObject({ scans: [], indexes: [] })
  expect(codes(after)).not.toContain('INDEX_MISSING')
  expect(tableOf(after, 'content.rating')!.cost!).toBeLessThan(rating.cost! / 5)
  expect(after.changes!.fullCost!).toBeGreaterThan(tableOf(after, 'content.rating')!.cost! * 5)
})

it('names the statement that makes a replica identity lossless, and what happens until then', async () => {
  await database.query('CREATE UNIQUE INDEX rating_place ON content.rating (place, film_id)')
  const weak = await validated({ sourceQuery: STATS, targetTable: 'analytics.weak' })
  const { identity } = tableOf(weak, 'content.rating')!
  expect(identity).toMatchObject({ isLossless: false, columns: ['id'], needed: ['film_id'] })
  expect(tableOf(weak, 'content.film')).toMatchObject({ identity: { isLossless: true } })
  const warning = weak.warnings.find(({ code }) => code === 'IDENTITY_WEAK')!
  expect(warning.message).toContain('makes the next run compute the whole query')
  expect(warning.hint).toContain('REPLICA IDENTITY USING INDEX')
  // Other subscribers may depend on what the identity has now.
  expect(identity!.statements[0]).toMatch(/CREATE UNIQUE INDEX .* \("id", "film_id"\)$/)
  for (const statement of identity!.statements) await database.query(statement)
  const strong = await validated({ sourceQuery: STATS, targetTable: 'analytics.strong' })
  expect(tableOf(strong, 'content.rating')).toMatchObject({
    identity: { isLossless: true, identity: 'index' },
  })
  expect(codes(strong)).not.toContain('IDENTITY_WEAK')
})

it('reports what cannot be traced and why, for one table or for the query', async () => {
  const one = await validated({
    sourceQuery: 'SELECT f.id, f.title, (SELECT max(rate) FROM content.setting) AS rate FROM content.film f',
    targetTable: 'analytics.one',
  })
  expect(tableOf(one, 'content.film')).toMatchObject({ reason: null })
  expect(tableOf(one, 'content.setting')).toMatchObject({ reason: expect.stringContaining('No join') })
  expect(codes(one)).toContain('TABLE_NOT_TRACED')
  const all = await validated({
    sourceQuery: 'SELECT id, title FROM content.film ORDER BY modified DESC LIMIT 10',
    targetTable: 'analytics.everything',
  })
  expect(all.changes).toMatchObject({ full: expect.stringContaining('LIMIT'), scope: [] })
  expect(codes(all)).toContain('CHANGES_NOT_TRACED')
})

it('names columns that depend on the plan, deletes without effect, and a source that is not prepared', async () => {
  const found = await validated({ sourceQuery: STATS, targetTable: 'analytics.floats', deletes: 'sweep' })
  expect(found.changes!.planDependent).toMatchObject([{ column: 'total' }])
  expect(codes(found)).toEqual(
    expect.arrayContaining(['PLAN_DEPENDENT', 'DELETES_UNUSED', 'SOURCE_NOT_PREPARED']),
  )
  expect(found.warnings.find(({ code }) => code === 'SOURCE_NOT_PREPARED')!.hint).toContain(
    'vitrina sources prepare main',
  )
})

it('names the columns that capture key follows, and nothing for a plain key', async () => {
  const joined = await validated({
    sourceQuery: `SELECT f.id, count(r.id) AS ratings, max(f.modified) AS modified
      FROM content.film f JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`,
    targetTable: 'analytics.joined',
    capture: 'key',
    incrementalKey: 'modified',
  })
  expect(joined.changes!.followed).toEqual([{ table: 'content.film', column: 'modified' }])
  expect(tableOf(joined, 'content.film')).toMatchObject({ identity: null })
  const plain = await validated({
    sourceQuery: 'SELECT id, title, modified FROM content.film',
    targetTable: 'analytics.plain',
    capture: 'key',
    incrementalKey: 'modified',
  })
  expect(plain.changes).toBeNull()
})
