import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withClient } from '../../src/main/connect.js'
import { runningEmbedded } from '../../src/main/embedded-url.js'
import { runCommand } from '../support/commands.js'
import { aFolder } from '../support/folders.js'
import { spawnVitrina } from '../support/processes.js'

const MART = `
name: stats
source_query: SELECT id, title FROM content.film
target_table: analytics.stats
mode: incremental
capture: wal
key_columns: [id]
`

it('captures changes of the embedded server after one command, with a login that can do nothing else', async () => {
  const folder = await aFolder()
  const up = spawnVitrina(
    ['up'],
    {
      ...{ VITRINA_PORT: '0', ALLOWED_SOURCE_SCHEMAS: 'content', ALLOWED_TARGET_TABLES: 'analytics.*' },
      // Of a source that no pipeline reads: only what the API knows is of interest.
      VITRINA_CONNECTION_CRM_URL: 'postgres://etl@127.0.0.1:9/crm',
      VITRINA_CONNECTION_CRM_CAPTURE_URL: 'postgres://captor@127.0.0.1:9/crm',
    },
    { cwd: folder },
  )
  await up.waitForOutput(/Vitrina is up[\s\S]*token\s+vtr_\S{32}\s/)
  const [, api = ''] = /API\s+(http\S+)\/api\/v1/.exec(up.stdout) ?? []
  const env = { ALLOWED_SOURCE_SCHEMAS: 'content', VITRINA_URL: api, HOME: folder }
  const vitrina = (...args: string[]) => runCommand(args, env, { cwd: folder })
  const admin = (await runningEmbedded(join(folder, '.vitrina')))!
  await withClient(admin, (client) =>
    client.query('CREATE SCHEMA content; CREATE TABLE content.film (id int PRIMARY KEY, title text)'),
  )
  await vitrina('migrate')
  await writeFile(join(folder, 'stats.yaml'), MART)
  expect(await vitrina('pipelines', 'create', '--file', 'stats.yaml')).toMatchObject({ code: 0 })
  expect(await vitrina('sources', 'prepare', 'main', '--apply')).toMatchObject({ code: 0 })
  expect(await vitrina('pipelines', 'run', 'stats', '--wait')).toMatchObject({ code: 0 })
  await withClient(admin, async (client) => {
    await client.query("INSERT INTO content.film VALUES (1, 'one')")
    const { rows } = await client.query(
      "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'vitrina-captor%' OR backend_type = 'walsender'",
    )
    expect(rows.map(({ usename }) => usename)).toContain('vitrina_capture')
  })
  expect(await vitrina('pipelines', 'run', 'stats', '--wait')).toMatchObject({ code: 0 })
  await withClient(admin, async (client) => {
    expect((await client.query('SELECT * FROM analytics.stats')).rows).toEqual([{ id: 1, title: 'one' }])
    const { rows } = await client.query(
      "SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls FROM pg_roles WHERE rolname = 'vitrina_capture'",
    )
    expect(rows).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolbypassrls: false }])
    // Each of content, analytics and etl: a privilege for all logins would be one for this one.
    const { rows: readable } = await client.query(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
          AND has_schema_privilege('vitrina_capture', n.oid, 'USAGE') AND has_table_privilege('vitrina_capture', c.oid, 'SELECT')`,
    )
    expect(readable).toEqual([])
  })
  // The logins that may copy the cluster are those of the runner alone.
  const token = (await readFile(join(folder, '.vitrina/api-token'), 'utf8')).trim()
  const answer = await fetch(`${api}/api/v1/connections`, { headers: { authorization: `Bearer ${token}` } })
  const { items } = (await answer.json()) as { items: { name: string }[] }
  expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['main', 'crm']))
  expect(items.map(({ name }) => name)).not.toContain('crm_capture')
  up.kill('SIGINT')
  expect(await up.exited).toBe(0)
})
