import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, type LogicalServer } from '../support/capture.js'
import { type Ended, runCommand } from '../support/commands.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const TABLES = `
  CREATE SCHEMA content;
  CREATE TABLE content.film (id int PRIMARY KEY, title text);
  CREATE TABLE content.rating (id int PRIMARY KEY, film_id int NOT NULL, user_id int, score int);
  CREATE INDEX ON content.rating (film_id);
  CREATE TABLE content.note (id int PRIMARY KEY, film_id int);
  CREATE TABLE content.keyless (film_id int);
  INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 20) n;
  INSERT INTO content.rating SELECT n, n % 20 + 1, n % 7, n % 5 FROM generate_series(1, 100) n`

const STATS = `SELECT f.id, f.title, count(r.id)::int AS ratings
  FROM content.film f LEFT JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`
const NOTES =
  'SELECT film_id, count(*)::int AS notes FROM content.note WHERE film_id IS NOT NULL GROUP BY film_id'

let server: LogicalServer
beforeAll(async () => {
  server = await aLogicalServer()
})
afterAll(() => server?.stop())

interface Prepared {
  readonly main: TestDatabase
  readonly source: TestDatabase
  /** Pipelines of the source with these queries, by name. */
  pipelines(queries: Readonly<Record<string, string>>, key?: string): Promise<void>
  prepare(...args: string[]): Promise<Ended>
  readonly env: Record<string, string>
}

async function aSource(
  extra: (source: TestDatabase) => Record<string, string> = () => ({}),
): Promise<Prepared> {
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  await source.query(TABLES)
  const env = {
    DATABASE_URL: main.url,
    VITRINA_CONNECTION_SRC_URL: source.url,
    ALLOWED_SOURCE_SCHEMAS: 'content',
    ...extra(source),
  }
  return {
    main,
    source,
    env,
    pipelines: async (queries, key = 'id') => {
      for (const [name, sourceQuery] of Object.entries(queries))
        await aPipeline(main, {
          ...{ name, sourceQuery, sourceConnection: 'src', mode: 'incremental', capture: 'wal' },
          ...{ keyColumns: [key], targetTable: `analytics.${name}` },
        })
    },
    prepare: (...args) => runCommand(['sources', 'prepare', ...args], env),
  }
}

const published = (source: TestDatabase) =>
  source.query<{ name: string }>(
    "SELECT schemaname || '.' || tablename AS name FROM pg_publication_tables ORDER BY 1",
  )

describe('vitrina sources prepare', () => {
  it('prints the statements for pipelines that have never run, and changes nothing', async () => {
    const { source, pipelines, prepare } = await aSource()
    await pipelines({ stats: STATS })
    const { code, stdout } = await prepare('src')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^-- Pipeline stats: content\.film, content\.rating$/m)
    expect(stdout).toMatch(/^-- ok: wal_level is logical\.$/m)
    expect(stdout).toMatch(
      /^CREATE PUBLICATION "vitrina_src_[0-9a-f]{8}" FOR TABLE "content"\."film", "content"\."rating" WITH .*;$/m,
    )
    expect(stdout).toMatch(
      /^CREATE UNIQUE INDEX CONCURRENTLY "rating_identity_\w+" ON "content"\."rating" \("id", "film_id"\);$/m,
    )
    expect(stdout).toMatch(
      /^ALTER TABLE "content"\."rating" REPLICA IDENTITY USING INDEX "rating_identity_\w+";$/m,
    )
    expect(stdout).toContain(
      'Until then, every UPDATE or DELETE on content.rating makes the next run compute the whole query',
    )
    expect(await published(source)).toEqual([])
    // A script: every line is a comment or a statement that the server accepts.
    for (const statement of stdout.split('\n').filter((line) => line !== '' && !line.startsWith('--')))
      await source.query(statement)
    expect((await prepare('src')).stderr).toContain('The source src is ready.')
  })

  it('publishes with --apply what the failed run named, and then the run works', async () => {
    const { main, source, pipelines, prepare, env } = await aSource()
    await pipelines({ stats: STATS })
    const [pipeline] = await main.query<{ id: string }>('SELECT id FROM etl.etl_pipelines')
    const runner = await aRunner(main, { env })
    try {
      const failed = await run(main, pipeline!.id)
      expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-2106' })
      expect(failed.error_hint).toContain('"vitrina sources prepare src --apply"')
      const { code, stderr } = await prepare('src', '--apply')
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('Ran CREATE PUBLICATION'),
      })
      expect(await run(main, pipeline!.id)).toMatchObject({ status: 'SUCCESS', error: null })
      expect(await rowTexts(main, 'SELECT * FROM analytics.stats')).toEqual(await rowTexts(source, STATS))
    } finally {
      await runner.stop()
    }
  })

  it('sets identities only with --identity, and adds and removes tables with the pipelines', async () => {
    const { main, source, pipelines, prepare } = await aSource()
    const identities = async () =>
      (
        await source.query<{ id: string }>(
          "SELECT relname || ' ' || relreplident::text AS id FROM pg_class WHERE relnamespace = 'content'::regnamespace AND relkind = 'r' AND relname IN ('rating', 'note') ORDER BY 1",
        )
      ).map(({ id }) => id)
    await pipelines({ stats: STATS })
    await pipelines({ notes: NOTES }, 'film_id')
    await prepare('src', '--apply')
    expect(await identities()).toEqual(['note d', 'rating d'])
    // note.film_id may be NULL, so that no index can be its identity.
    await prepare('src', '--apply', '--identity')
    expect(await identities()).toEqual(['note f', 'rating i'])
    const { stdout } = await prepare('src', '--json')
    expect(JSON.parse(stdout).items[0]).toMatchObject({ is_ready: true, publish: { statements: [] } })
    await main.query("DELETE FROM etl.etl_pipelines WHERE name = 'notes'")
    await prepare('src', '--apply')
    expect((await published(source)).map(({ name }) => name)).toEqual(['content.film', 'content.rating'])
  })

  it('removes no table while a query cannot be read', async () => {
    const { main, source, pipelines, prepare } = await aSource()
    await pipelines({ stats: STATS })
    await pipelines({ notes: NOTES }, 'film_id')
    await prepare('src', '--apply')
    await main.query(
      "UPDATE etl.etl_pipelines SET source_query = 'SELECT nothing FROM content.gone' WHERE name = 'notes'",
    )
    const { code, stdout } = await prepare('src', '--apply')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^-- Pipeline notes: .*gone/m)
    expect(await published(source)).toHaveLength(3)
  })

  it('refuses a table without identity, and names the owner when the login may not publish', async () => {
    const { source, pipelines, prepare } = await aSource()
    await pipelines({
      keyless: 'SELECT DISTINCT film_id AS id FROM content.keyless WHERE film_id IS NOT NULL',
    })
    const { code, stdout } = await prepare('src', '--apply')
    expect(code).toBe(1)
    expect(stdout).toContain('content.keyless has no primary key')
    expect(stdout).toContain('-- ALTER TABLE "content"."keyless" REPLICA IDENTITY FULL;')
    await source.query('ALTER TABLE content.keyless REPLICA IDENTITY FULL')
    await source.query("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'guest'")
    const guest = new URL(source.url)
    guest.username = 'guest'
    guest.password = 'guest'
    const refused = await prepare('src', '--apply', '--url', guest.href)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('vitrina sources prepare src --apply --url')
  })

  it('names what an administrator has to do: the login, and wal_level on a server that has another one', async () => {
    const { main, env, pipelines, prepare } = await aSource((source) => {
      const capture = new URL(source.url)
      capture.username = 'captor'
      return { VITRINA_CONNECTION_SRC_CAPTURE_URL: capture.href }
    })
    await pipelines({ stats: STATS })
    expect((await prepare('src')).stdout).toContain('-- CREATE ROLE "captor" LOGIN REPLICATION')
    await main.query(TABLES)
    await aPipeline(main, {
      ...{ name: 'here', sourceQuery: STATS, mode: 'incremental', capture: 'wal' },
      ...{ keyColumns: ['id'], targetTable: 'analytics.here' },
    })
    await runCommand(['migrate'], env)
    // The server of the main database is not prepared for logical decoding.
    const { stdout } = await prepare('main')
    expect(stdout).toMatch(/MISSING: wal_level is (replica|minimal)/)
    expect(stdout).toContain("-- ALTER SYSTEM SET wal_level = 'logical';")
    expect(stdout).toContain('restarts the server')
    expect(stdout).toContain('VITRINA_CAPTURE_DATABASE_URL is not set')
    expect((await prepare()).stdout).toMatch(/-- Source main[\s\S]*-- Source src/)
  })

  it('rejects wrong usage', async () => {
    const { prepare } = await aSource()
    expect(await prepare('src', '--identity')).toMatchObject({ code: 2 })
    expect(await prepare('--url', 'postgres://x@y/z')).toMatchObject({ code: 2 })
    expect(await prepare('nowhere')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('configured: main, src'),
    })
    expect(await prepare()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No pipeline has capture wal'),
    })
  })
})

describe('vitrina sources list', () => {
  it('shows slot, lag, tables and pipelines of a source, until no pipeline captures it any more', async () => {
    const { main, source, pipelines, prepare, env } = await aSource()
    await pipelines({ stats: STATS })
    await prepare('src', '--apply')
    const [pipeline] = await main.query<{ id: string }>('SELECT id FROM etl.etl_pipelines')
    const token = 'a-token-for-the-sources'
    const api = spawnVitrina(['api'], {
      ...env,
      VITRINA_PORT: '0',
      VITRINA_API_TOKEN: token,
      LOG_LEVEL: 'warn',
    })
    const [, url = ''] = await api.waitForOutput(/API\s+(http\S+)\/api\/v1/)
    const cli = (...args: string[]) => runCommand(args, { VITRINA_URL: url, VITRINA_API_TOKEN: token })
    const listed = async () => JSON.parse((await cli('sources', 'list', '--json')).stdout).items
    expect(await listed()).toMatchObject([
      { connection: 'src', state: 'unused', tables: [], pipelines: [{ name: 'stats', position: null }] },
    ])
    const runner = await aRunner(main, { env })
    try {
      // The first run reads everything; from the second on, it reports its position in the log.
      for (let n = 0; n < 2; n++) expect(await run(main, pipeline!.id)).toMatchObject({ status: 'SUCCESS' })
      await waitFor(async () => (await listed())[0].held_bytes !== null, { what: 'the figures of the slot' })
      const [found] = await listed()
      expect(found).toMatchObject({
        ...{ connection: 'src', state: 'capturing', way: 'stream', error: null },
        slot: expect.stringMatching(/^vitrina_src_/),
        upto: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/),
        tables: [
          { table: 'content.film', identity: 'primary key', is_lossless: true, statements: [] },
          { table: 'content.rating', is_lossless: false, needed: ['film_id'] },
        ],
        pipelines: [{ name: 'stats', lag_bytes: expect.any(Number), position: expect.any(String) }],
      })
      expect(found.owner).not.toBeNull()
      const { stdout } = await cli('sources', 'list')
      expect(stdout).toMatch(/src\s+capturing\s+\S+\s+stream/)
      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      expect(await metrics.text()).toContain('vitrina_source_captured{source="src"} 1')
    } finally {
      await runner.stop()
    }
    await waitFor(async () => (await listed())[0].state === 'uncaptured', { what: 'the runner to let go' })
    const slots = () =>
      source.query('SELECT slot_name FROM pg_replication_slots WHERE database = current_database()')
    expect(await slots()).toHaveLength(1)
    const next = await aRunner(main, { env })
    try {
      await main.query("UPDATE etl.etl_pipelines SET capture = 'xmin'")
      await waitFor(async () => (await listed()).length === 0, { what: 'the source to be given up' })
      expect(await slots()).toEqual([])
    } finally {
      await next.stop()
    }
  })
})
