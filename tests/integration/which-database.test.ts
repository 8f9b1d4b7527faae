import { beforeAll, describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { Database } from '../../src/store/database.js'
import { RunnerRegistryRepository } from '../../src/store/runs/runner-registry.repository.js'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

const at = (url: string, change: (to: URL) => void) => {
  const to = new URL(url)
  change(to)
  return to.href
}

/** The login of a mart's owner who may write the mart, and nothing else. */
const NARROW = `
  DO $$ BEGIN CREATE ROLE narrow_writer LOGIN PASSWORD 'narrow'; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
  CREATE SCHEMA analytics;
  CREATE TABLE analytics.narrow (film_id uuid PRIMARY KEY, title text);
  GRANT USAGE ON SCHEMA analytics TO narrow_writer;
  GRANT SELECT, INSERT, UPDATE, DELETE ON analytics.narrow TO narrow_writer;
  CREATE TABLE analytics.hidden (film_id uuid PRIMARY KEY, title text)`

let main: TestDatabase
let mart: TestDatabase
let api: TestApi
beforeAll(async () => {
  main = await aDatabase({ cinema: true })
  mart = await aDatabase({ migrated: false })
  await mart.query(NARROW)
  const urls = new Map([
    ['mart', at(mart.url, (to) => Object.assign(to, { username: 'narrow_writer', password: 'narrow' }))],
    ['nowhere', at(mart.url, (to) => Object.assign(to, { pathname: '/no_such_database' }))],
  ])
  const env = Object.fromEntries(
    [...urls].map(([name, url]) => [`VITRINA_CONNECTION_${name.toUpperCase()}_URL`, url]),
  )
  await aRunner(main, { env })
  api = anApi(main.loginUrl('meta'), {
    readerUrl: main.loginUrl('reader'),
    connections: [...urls.keys()],
    urls,
  })
})
const films = (overrides: PipelineOverrides = {}) =>
  aPipeline(main, {
    sourceQuery: 'SELECT id AS film_id, title FROM content.film_work',
    keyColumns: ['film_id'],
    ...overrides,
  })

describe('a run that PostgreSQL rejects names the database, with its SQLSTATE', () => {
  it('the target, where the checkpoint cannot be stored', async () => {
    const { id } = await films({ targetConnection: 'mart', targetTable: 'analytics.narrow' })
    const ended = await run(main, id)
    expect(ended).toMatchObject({ status: 'FAILED', error_code: vtr('TARGET_FAILED'), rows_read: 0 })
    expect(ended.error).toMatch(/SQLSTATE 42501/)
    expect(ended.error_hint).toMatch(/target/)
  })

  it.each([
    ['source', { sourceConnection: 'nowhere' }],
    ['target', { targetConnection: 'nowhere' }],
  ] as const)('the %s, where the database does not exist', async (side, overrides) => {
    const { id } = await films(overrides)
    const ended = await run(main, id)
    expect(ended).toMatchObject({ status: 'FAILED', error_code: vtr('DATABASE_LOGIN'), attempt: 1 })
    expect(ended.error).toMatch(new RegExp(`the ${side} refused the connection: .*SQLSTATE 3D000`))
    expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({
      valid: false,
      errors: [{ code: 'DATABASE_LOGIN', field: `${side}_connection` }],
    })
  })

  it('the source, where the query fails on a row', async () => {
    const { id } = await films({
      sourceQuery:
        'SELECT id AS film_id, (1 / (length(title) - length(title)))::text AS title FROM content.film_work',
    })
    const ended = await run(main, id)
    expect(ended).toMatchObject({ status: 'FAILED', error_code: vtr('SOURCE_QUERY_FAILED') })
    expect(ended.error).toMatch(/SQLSTATE 22012/)
  })

  it.each([
    ['the batch', 'INSERT ON etl.etl_run_batches'],
    ['the checkpoint', 'UPDATE ON etl.etl_state'],
  ])('the meta store, where %s cannot be recorded', async (_what, right) => {
    const { id } = await films()
    await main.query(`REVOKE ${right} FROM vitrina_writer`)
    try {
      const ended = await run(main, id)
      expect(ended).toMatchObject({ status: 'FAILED', error_code: vtr('META_STORE_FAILED'), attempt: 1 })
      expect(ended.error).toMatch(/SQLSTATE 42501/)
      expect(ended.error_hint).toMatch(/vitrina migrate/)
    } finally {
      await main.query(`GRANT ${right} TO vitrina_writer`)
    }
  })
})

it('a comparison names the target, where the mart may not be read', async () => {
  await main.query('CREATE TABLE analytics.unreadable (film_id uuid PRIMARY KEY, title text)')
  await main.query('REVOKE ALL ON analytics.unreadable FROM PUBLIC, vitrina_meta')
  const { id } = await films({ targetTable: 'analytics.unreadable' })
  const answer = await api.get(`/pipelines/${id}/reconcile`)
  expect([answer.statusCode, answer.json()]).toMatchObject([
    422,
    { code: 'TARGET_FAILED', sqlstate: '42501' },
  ])
})

it('the registry of runners names the meta store', async () => {
  const own = await aDatabase()
  await own.query('REVOKE INSERT ON etl.etl_runners FROM vitrina_writer')
  const database = new Database(own.loginUrl('writer'), { name: 'vitrina-runner', size: 1 })
  const heartbeat = new RunnerRegistryRepository(database).heartbeat({
    id: 'one',
    host: 'here',
    pid: 1,
    version: 'test',
    concurrency: 1,
    tags: null,
    connectionLimits: {},
  })
  await expect(heartbeat).rejects.toMatchObject({ code: 'META_STORE_FAILED', sqlstate: '42501' })
  await database.close()
})
